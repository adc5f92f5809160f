using System.Security.Authentication;
using Millrace.Engine.Connections;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>
/// TLS of a connection to a server. It sends the ClientHello as soon as the connection is open. A failure is an
/// <see cref="AuthenticationException"/> with cause and remedy, the <see cref="FilterChain.Failure"/> of the connection. The time limit is
/// that of the connect. Reactor thread only.
/// </summary>
internal sealed class TlsClientFilter(TlsClient client, TlsTarget target) : TlsFilter(client.Counters, client.Log), IClientHandshake
{
    private ClientContext _context = null!;
    private CertificateRefusal? _refusal;

    public override void Begin()
    {
        _context = client.Acquire();
        SslConnection ssl;
        try
        {
            // It keeps OpenSSL's part of the context.
            ssl = Create(_context.Handle);
        }
        finally
        {
            _context.Release();
        }

        ssl.Connect();
        target.Prepare(ssl.Handle, _context);
        Work([]);
    }

    public override void Receive(ReadOnlySpan<byte> bytes)
    {
        if (Phase is TlsPhase.Handshake or TlsPhase.Established)
        {
            Work(bytes);
        }
    }

    public override void Release()
    {
        if (Phase == TlsPhase.Handshake)
        {
            NoteFailure($"the handshake with {target.Text} was given up");
        }

        base.Release();
    }

    public bool TryKeep(nint session) => target.Sessions.TryKeep(session, _context, isCurrent: client.IsCurrent(_context));

    public void Refuse(CertificateRefusal refusal) => _refusal ??= refusal;

    protected override ReceiveEnd HandshakeInputEnded(ReceiveEnd end)
    {
        string how = end == ReceiveEnd.Reset ? "reset" : "closed";
        NoteFailure($"{target.Text} {how} the connection within the TLS handshake: it may not speak TLS, or not serve '{target.Host}'");
        return ReceiveEnd.Reset;
    }

    protected override TlsPhase CompleteHandshake(SslConnection ssl)
    {
        ApplicationProtocol = ssl.HasSelectedHttp11 ? ClientContext.Http11 : null;
        return TlsPhase.Established;
    }

    protected override string DescribeFailure(OpenSslFailure failure) =>
        _refusal?.Describe(target) ?? ServerRefusal.Describe(target, failure);

    protected override void OnFailure(string reason, bool isHandshake) =>
        Connection.Filters.NoteFailure(new AuthenticationException(reason));
}
