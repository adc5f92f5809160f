using Millrace.AspNetCore.Https;
using Millrace.Quic.Protection;
using Millrace.QuicTransport;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>
/// The TLS of one listener's connections, held until it receives no more of them. Existing connections hold what they need themselves.
/// </summary>
internal interface IMultiplexedTls : IDisposable
{
    /// <summary>The handshake of a new connection. Reactor thread.</summary>
    QuicHandshake Accept(QuicServerConnection connection);

    /// <summary>
    /// Null where the client is not asked for a certificate; else what decides whether it is admitted, which is slow: for the thread pool.
    /// </summary>
    Func<ConnectionTls, bool>? CheckOf(QuicHandshake handshake);
}
