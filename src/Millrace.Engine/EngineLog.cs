using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Interop;

namespace Millrace.Engine;

/// <summary>The engine's log lines. Event ids are stable: 1xx reactors, 2xx listeners, 3xx connections.</summary>
internal sealed partial class EngineLog(ILogger logger)
{
    /// <summary>Lines of one kind per period, for what each connection can cause: several, as their causes may differ.</summary>
    private const int Burst = 10;

    private readonly ILogger _logger = new NonThrowingLogger(logger);
    private readonly LogRateLimiter _handlers = new(burst: Burst);
    private readonly LogRateLimiter _filters = new(burst: Burst);
    private readonly LogRateLimiter _callbackOwners = new(burst: Burst);

    [LoggerMessage(100, LogLevel.Debug, "{Reactors} reactors started on {Backend}.")]
    public partial void Started(int reactors, string backend);

    [LoggerMessage(101, LogLevel.Critical, "{What}; the process ends.")]
    public partial void ReactorFailed(string what, Exception error);

    [LoggerMessage(102, LogLevel.Warning,
        "Reactor {Index} stops while {Count} connections and {Operations} other operations are in flight; their memory is not freed.")]
    public partial void ConnectionsLeft(int index, int count, int operations);

    [LoggerMessage(103, LogLevel.Warning,
        "RLIMIT_MEMLOCK is too low: rings have {Entries} entries instead of {Wanted}. Raise the limit ('ulimit -l', LimitMEMLOCK=).")]
    public partial void RingsShrunk(int entries, int wanted);

    [LoggerMessage(104, LogLevel.Warning, "{Cause}; serving on epoll instead. To use io_uring, {Remedy}.")]
    public partial void FellBack(string cause, string remedy);

    [LoggerMessage(105, LogLevel.Warning,
        "Reactor {Index} has been blocked for {DurationMs} ms by {Owner}; its connections wait. Blocking code belongs on the thread "
        + "pool (in ASP.NET Core: mark its endpoint [RunOffReactor]). ({Suppressed} similar warnings suppressed)")]
    public partial void Stalled(int index, long durationMs, string owner, long suppressed);

    [LoggerMessage(106, LogLevel.Information, "Reactor {Index} continues after {DurationMs} ms.")]
    public partial void StallEnded(int index, long durationMs);

    [LoggerMessage(107, LogLevel.Error,
        "Stall watchdog: reporting or failing the blocked handler threw. ({Suppressed} similar errors suppressed)")]
    private partial void CallbackOwnerFailed(Exception error, long suppressed);

    [LoggerMessage(108, LogLevel.Warning, "{Option} is ignored on epoll: it needs io_uring.")]
    public partial void OptionIgnored(string option);

    [LoggerMessage(109, LogLevel.Warning,
        "Reactors cannot be pinned to cores and run unpinned: {Cause}. {Remedy}.")]
    public partial void Unpinned(string cause, string remedy);

    [LoggerMessage(113, LogLevel.Warning,
        "{Reactors} reactors for {Cores} cores: each takes a thread, a kernel queue and receive buffers, and those beyond the cores gain "
        + "nothing. Configure one for each core, or omit the number.")]
    public partial void ManyReactors(int reactors, int cores);

    [LoggerMessage(200, LogLevel.Warning, "Accepting on {EndPoint} pauses: {Reason}.")]
    public partial void AcceptPaused(EndPoint endPoint, string reason);

    [LoggerMessage(201, LogLevel.Warning, "The socket file of {EndPoint} cannot be removed: {Reason}")]
    public partial void SocketFileLeft(EndPoint endPoint, string reason);

    [LoggerMessage(202, LogLevel.Warning, "Turned away {Connections}: {Causes}. Raise {Limits}.")]
    public partial void TurnedAway(string connections, string causes, string limits);

    [LoggerMessage(203, LogLevel.Error, "Receiving datagrams on {EndPoint} fails again and again, the last time because: {Reason}.")]
    public partial void DatagramReceiveFailed(EndPoint endPoint, string reason);

    [LoggerMessage(300, LogLevel.Error,
        "A connection handler failed; its connection is reset. ({Suppressed} similar errors suppressed)")]
    private partial void HandlerFailed(Exception error, long suppressed);

    [LoggerMessage(302, LogLevel.Error, "{Count} file reads failed, the last one: {Reason}.")]
    public partial void FileFaults(long count, string reason);

    [LoggerMessage(303, LogLevel.Warning,
        "Closed {Count} connections without a valid PROXY header; the last one from {Peer}: {Reason}.")]
    public partial void PrefaceRefused(long count, EndPoint? peer, string reason);

    [LoggerMessage(301, LogLevel.Error,
        "A connection filter failed; the connection is reset. ({Suppressed} similar errors suppressed)")]
    private partial void FilterFailed(Exception error, long suppressed);

    /// <summary>Logs what a handler threw, rate-limited: a client may cause it with every request.</summary>
    public void HandlerFailed(Exception error) => Log(error, _handlers, HandlerFailed);

    /// <summary>Logs what a filter threw, rate-limited.</summary>
    public void FilterFailed(Exception error) => Log(error, _filters, FilterFailed);

    /// <summary>
    /// Logs what a callback owner threw when the watchdog reported or failed it, rate-limited: the watchdog retries at each check.
    /// </summary>
    public void CallbackOwnerFailed(Exception error) => Log(error, _callbackOwners, CallbackOwnerFailed);

    private static void Log(Exception error, LogRateLimiter limiter, Action<Exception, long> log)
    {
        if (limiter.Admits(Environment.TickCount64, out long suppressed))
        {
            log(error, suppressed);
        }
    }
}

/// <summary>
/// A logger that never throws, for reactors. Providers belong to the application, and Microsoft.Extensions.Logging rethrows what they throw
/// (a full disk, a lost collector) as an AggregateException: on a reactor's thread that would end the process. A line that fails is lost.
/// Any thread.
/// </summary>
internal sealed class NonThrowingLogger(ILogger logger) : ILogger
{
    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        try
        {
            logger.Log(logLevel, eventId, state, exception, formatter);
        }
#pragma warning disable CA1031 // See above: a failed log line must not end the reactor.
        catch (Exception)
#pragma warning restore CA1031
        {
            // The line is lost.
        }
    }

    /// <summary>A provider that throws is treated as enabled.</summary>
    public bool IsEnabled(LogLevel logLevel)
    {
        try
        {
            return logger.IsEnabled(logLevel);
        }
#pragma warning disable CA1031 // As above.
        catch (Exception)
#pragma warning restore CA1031
        {
            return true;
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => logger.BeginScope(state);
}
