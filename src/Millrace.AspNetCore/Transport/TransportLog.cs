using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Interop;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// The transport's log messages: those of the sockets transport with its ids, names and texts, and Millrace's own from 100 on. The category
/// is a sibling of that transport's, as both may serve one application: filters on the common parent apply to both.
/// </summary>
internal sealed partial class TransportLog(ILogger logger)
{
    public const string Category = "Microsoft.AspNetCore.Server.Kestrel.Transport.Millrace";

    /// <summary>
    /// For messages about the whole server. Application templates filter out Microsoft.AspNetCore, but not this category.
    /// </summary>
    public const string ServerCategory = "Millrace.AspNetCore";

    /// <summary>Messages that one connection can cause, logged before rate limiting begins: each may have another cause.</summary>
    private const int Burst = 10;

    private readonly ILogger _logger = new NonThrowingLogger(logger);
    private readonly LogRateLimiter _unexpected = new(burst: Burst);
    private readonly LogRateLimiter _waits = new(burst: Burst);

    /// <summary>The log for messages about the whole server.</summary>
    public static TransportLog Of(ILoggerFactory logs) => new(logs.CreateLogger(ServerCategory));

    /// <summary>Logs an unexpected exception, rate-limited: a client may cause it at will.</summary>
    public void Unexpected(string place, string connectionId, Exception error)
    {
        if (_unexpected.Admits(Environment.TickCount64, out long suppressed))
        {
            Unexpected(place, connectionId, suppressed, error);
        }
    }

    /// <summary>Logs a request that waited for its own reactor, rate-limited.</summary>
    public void ReactorWaitFailed(string connectionId, string owner, string reason)
    {
        if (_waits.Admits(Environment.TickCount64, out long suppressed))
        {
            ReactorWaitFailed(connectionId, owner, reason, suppressed);
        }
    }

    [LoggerMessage(
        0,
        LogLevel.Error,
        "Unexpected exception in {Place} of connection \"{ConnectionId}\". ({Suppressed} similar warnings suppressed)",
        EventName = "Unexpected")]
    private partial void Unexpected(string place, string connectionId, long suppressed, Exception error);

    [LoggerMessage(4, LogLevel.Debug, "Connection id \"{ConnectionId}\" paused.", EventName = "ConnectionPause")]
    public partial void ConnectionPause(string connectionId);

    [LoggerMessage(5, LogLevel.Debug, "Connection id \"{ConnectionId}\" resumed.", EventName = "ConnectionResume")]
    public partial void ConnectionResume(string connectionId);

    [LoggerMessage(6, LogLevel.Debug, "Connection id \"{ConnectionId}\" received FIN.", EventName = "ConnectionReadFin")]
    public partial void ConnectionReadFin(string connectionId);

    [LoggerMessage(
        7, LogLevel.Debug, "Connection id \"{ConnectionId}\" sending FIN because: \"{Reason}\"", EventName = "ConnectionWriteFin")]
    public partial void ConnectionWriteFin(string connectionId, string reason);

    [LoggerMessage(
        8, LogLevel.Debug, "Connection id \"{ConnectionId}\" sending RST because: \"{Reason}\"", EventName = "ConnectionWriteRst")]
    public partial void ConnectionWriteRst(string connectionId, string reason);

    [LoggerMessage(14, LogLevel.Debug, "Connection id \"{ConnectionId}\" communication error.", EventName = "ConnectionError")]
    public partial void ConnectionError(string connectionId, Exception error);

    [LoggerMessage(19, LogLevel.Debug, "Connection id \"{ConnectionId}\" reset.", EventName = "ConnectionReset")]
    public partial void ConnectionReset(string connectionId);

    [LoggerMessage(
        101,
        LogLevel.Warning,
        "Connection id \"{ConnectionId}\" is reset: {Owner} {Reason} ({Suppressed} similar warnings suppressed)",
        EventName = "ReactorWaitFailed")]
    private partial void ReactorWaitFailed(string connectionId, string owner, string reason, long suppressed);

    [LoggerMessage(102, LogLevel.Warning, "TLS on {EndPoint} falls back to Kestrel's UseHttps: {Cause}.", EventName = "TlsLeft")]
    public partial void TlsLeft(EndPoint endPoint, string cause);

    [LoggerMessage(
        103,
        LogLevel.Debug,
        "Connection id \"{ConnectionId}\" was refused because of its client certificate.",
        EventName = "ClientCertificateRefused")]
    public partial void ClientCertificateRefused(string connectionId);

    [LoggerMessage(
        104,
        LogLevel.Warning,
        "A handler blocks a reactor, which still listens on {EndPoint} after {Timeout}: its new connections are refused.",
        EventName = "UnbindingLeft")]
    public partial void UnbindingLeft(EndPoint endPoint, TimeSpan timeout);

    [LoggerMessage(
        105,
        LogLevel.Warning,
        "A handler blocks a reactor, and the reactors have not stopped after {Timeout}: they stop when it returns, or with the process.",
        EventName = "ReactorsLeft")]
    public partial void ReactorsLeft(TimeSpan timeout);

    [LoggerMessage(
        106,
        LogLevel.Warning,
        "Connection middleware registered before UseMillraceHttps on {EndPoint} processes bytes: it sees decrypted bytes, not those on "
            + "the wire. Register it after UseMillraceHttps, or use UseHttps there.",
        EventName = "TlsBehindMiddleware")]
    public partial void TlsBehindMiddleware(EndPoint? endPoint);

    [LoggerMessage(
        107, LogLevel.Information, "Kestrel is served by Millrace: {Reactors} reactors on {Backend}.", EventName = "Serving")]
    public partial void Serving(int reactors, string backend);

    [LoggerMessage(
        108,
        LogLevel.Warning,
        "Millrace ignores these options of UseSockets: {Options}. Set the options of UseMillrace instead; for a listening socket of your "
            + "own use ListenHandle.",
        EventName = "SocketOptionsIgnored")]
    public partial void SocketOptionsIgnored(string options);

    [LoggerMessage(
        109, LogLevel.Warning, "Configuration key {Key} is not a known option. Options: {Options}.", EventName = "UnknownOption")]
    public partial void UnknownOption(string key, string options);

    [LoggerMessage(
        EventId = 120,
        Message = "{Endpoint} blocks reactors: its requests blocked their threads for at least {OwnMs} ms, and all requests for "
            + "{BlockedMs} ms, of the last {WindowMs} ms. Its requests run on the thread pool until they have not blocked for "
            + "{CalmSeconds} s. Use await instead of blocking calls (.Wait(), .Result, Thread.Sleep, synchronous I/O), or mark the "
            + "endpoint with [RunOffReactor].",
        EventName = "EndpointLeft")]
    public partial void EndpointLeft(LogLevel level, string endpoint, long ownMs, long blockedMs, int windowMs, int calmSeconds);

    [LoggerMessage(
        EventId = 121,
        Message = "Code outside endpoints (middleware) blocks reactors, most recently at {Request}: it blocked their threads for at least "
            + "{BlockedMs} ms of the last {WindowMs} ms. All requests run on the thread pool until none has blocked for {CalmSeconds} s. "
            + "Use await instead of blocking calls, or set Scheduling to ThreadPool.",
        EventName = "MiddlewareLeft")]
    public partial void MiddlewareLeft(LogLevel level, string request, long blockedMs, int windowMs, int calmSeconds);

    [LoggerMessage(
        123,
        LogLevel.Information,
        "{Endpoint} has not blocked for {CalmSeconds} s: its requests run on the reactors again.",
        EventName = "EndpointReturned")]
    public partial void EndpointReturned(string endpoint, int calmSeconds);

    [LoggerMessage(100, LogLevel.Warning, "{EndPoint} falls back to the next transport: {Cause}. {Remedy}.", EventName = "EndPointLeft")]
    public partial void EndPointLeft(EndPoint endPoint, string cause, string remedy);
}
