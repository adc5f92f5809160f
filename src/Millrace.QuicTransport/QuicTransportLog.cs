using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Interop;

namespace Millrace.QuicTransport;

/// <summary>The transport's log lines. Event ids are stable. What the logger throws is dropped. Any thread.</summary>
internal sealed partial class QuicTransportLog(ILogger logger)
{
    /// <summary>Lines of one kind per period: several, as their causes may differ.</summary>
    private const int Burst = 10;

    private readonly ILogger _logger = new NonThrowingLogger(logger);
    private readonly LogRateLimiter _handlers = new(burst: Burst);

    [LoggerMessage(1, LogLevel.Debug, "Serving QUIC on {EndPoint} with {Sockets} sockets.")]
    public partial void Listening(EndPoint endPoint, int sockets);

    [LoggerMessage(2, LogLevel.Information,
        "The kernel does not distribute datagrams on {EndPoint} by connection ids; reactors hand them over to each other, at a cost.")]
    public partial void NotSteered(EndPoint endPoint);

    [LoggerMessage(3, LogLevel.Error,
        "A QUIC connection or its handler failed; the connection is closed. ({Suppressed} similar errors suppressed)")]
    private partial void HandlerFailed(Exception error, long suppressed);

    /// <summary>Logs what a connection or its handler threw, rate-limited: a client may cause it with every request.</summary>
    public void HandlerFailed(Exception error)
    {
        if (_handlers.Admits(Environment.TickCount64, out long suppressed))
        {
            HandlerFailed(error, suppressed);
        }
    }
}
