using Millrace.AspNetCore.Https;
using Millrace.Quic.Protection;
using Millrace.QuicTransport;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>
/// The TLS of an endpoint with <c>UseMillraceHttps</c>: its certificates, which are reloaded and obtained as those over TCP. Any thread.
/// </summary>
internal sealed class EndPointTls(ListenerTls tls, ClientCertificateCheck? check) : IMultiplexedTls
{
    public QuicHandshake Accept(QuicServerConnection connection) => tls.Terminator.AcceptQuic();

    public Func<ConnectionTls, bool>? CheckOf(QuicHandshake handshake) => check is null ? null : check.Admits;

    public void Dispose() => tls.Dispose();
}
