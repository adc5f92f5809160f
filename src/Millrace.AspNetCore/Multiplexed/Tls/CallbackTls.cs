using System.Net.Security;
using System.Security.Authentication;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Multiplexed.Connections;
using Millrace.Quic.Protection;
using Millrace.QuicTransport;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>
/// The TLS of an endpoint with <c>UseHttps</c>: Kestrel's callback gives the options of each connection, by the host that the client asks
/// for. It may be the application's code, and runs on the thread pool. Any thread.
/// </summary>
internal sealed class CallbackTls(
    TlsConnectionCallbackOptions options,
    Func<QuicServerConnection, MultiplexedConnection> create,
    ILoggerFactory logs,
    MultiplexedLog log) : IMultiplexedTls
{
    private readonly SelectedTerminators _terminators = new(options.ApplicationProtocols, logs);

    public QuicHandshake Accept(QuicServerConnection connection) => new SelectingHandshake(this, connection);

    public Func<ConnectionTls, bool>? CheckOf(QuicHandshake handshake) => ((SelectingHandshake)handshake).Selected?.Check;

    public void Dispose() => _terminators.Dispose();

    /// <summary>The connection as the application sees it, for its callback. Reactor thread.</summary>
    public MultiplexedConnection Create(QuicServerConnection connection) => create(connection);

    /// <summary>
    /// Tells the application's callback that its connection has ended, on the thread pool: what it has registered is its own code. Any
    /// thread.
    /// </summary>
    public void Cancel(CancellationTokenSource selection, MultiplexedConnection connection) => ThreadPool.UnsafeQueueUserWorkItem(
        static state =>
        {
            try
            {
                state.Selection.Cancel();
            }
#pragma warning disable CA1031 // An exception of a callback must not end the process.
            catch (Exception error)
#pragma warning restore CA1031
            {
                state.Log.Unexpected("a cancellation of the TLS callback", state.Connection.ConnectionId, error);
            }
        },
        (Selection: selection, Connection: connection, Log: log),
        preferLocal: false);

    /// <summary>
    /// Has the application choose for a client, and begins its handshake, which the caller owns. Null: it chose nothing usable, which is
    /// logged. Any thread but a reactor's.
    /// </summary>
    public async Task<SelectedHandshake?> SelectAsync(string host, BaseConnectionContext connection, CancellationToken cancellation)
    {
        try
        {
            var context = new TlsConnectionCallbackContext
            {
#pragma warning disable CA5398 // QUIC has no other version.
                ClientHelloInfo = new SslClientHelloInfo(host, SslProtocols.Tls13),
#pragma warning restore CA5398
                State = options.OnConnectionState,
                Connection = connection,
            };
            return _terminators.Begin(await options.OnConnection(context, cancellation), host);
        }
#pragma warning disable CA1031 // The application's code may throw anything: the handshake fails.
        catch (Exception error)
#pragma warning restore CA1031
        {
            log.CertificateNotSelected(host, error.Message, error);
            return null;
        }
    }
}
