using System.Net;
using Microsoft.Extensions.Logging;

namespace Millrace.Engine;

/// <summary>The engine's log lines. Event ids are stable: 1xx reactors, 2xx listeners, 3xx connections.</summary>
internal sealed partial class EngineLog(ILogger logger)
{
    private readonly ILogger _logger = new UnfailingLogger(logger);

    [LoggerMessage(100, LogLevel.Debug, "{Reactors} reactors started on {Backend}.")]
    public partial void Started(int reactors, string backend);

    [LoggerMessage(101, LogLevel.Critical, "Reactor {Index} failed; the process ends.")]
    public partial void ReactorFailed(int index, Exception error);

    [LoggerMessage(102, LogLevel.Warning,
        "Reactor {Index} stops with {Count} connections and {Errands} other operations that go on; their memory stays.")]
    public partial void ConnectionsLeft(int index, int count, int errands);

    [LoggerMessage(103, LogLevel.Warning,
        "Memory to lock is short: rings have {Entries} entries instead of {Wanted}. Raise the limit ('ulimit -l', LimitMEMLOCK=).")]
    public partial void RingsShrunk(int entries, int wanted);

    [LoggerMessage(104, LogLevel.Warning, "{Cause}; serving on epoll instead. To have io_uring, {Remedy}.")]
    public partial void FellBack(string cause, string remedy);

    [LoggerMessage(105, LogLevel.Warning,
        "Reactor {Index} has been held up for {DurationMs} ms by {Occupant}; its connections wait. Blocking code belongs on the thread "
        + "pool (in ASP.NET Core: mark its endpoint [RunOffReactor]). {Kept} like it were not told of since the last line.")]
    public partial void HeldUp(int index, long durationMs, string occupant, long kept);

    [LoggerMessage(106, LogLevel.Information, "Reactor {Index} goes on after {DurationMs} ms.")]
    public partial void Released(int index, long durationMs);

    [LoggerMessage(107, LogLevel.Error, "Whoever holds up a reactor cannot be told of, or not be failed.")]
    public partial void OccupantFailed(Exception error);

    [LoggerMessage(108, LogLevel.Warning, "Submission polling does nothing on epoll, which has no submissions: it is io_uring's alone.")]
    public partial void NothingPolled();

    [LoggerMessage(109, LogLevel.Warning,
        "Reactors cannot be pinned to cores ({Reason}) and go on as if that were not asked for. A sandbox may forbid sched_setaffinity, "
        + "or a core was taken away from the process.")]
    public partial void Unpinned(string reason);

    [LoggerMessage(110, LogLevel.Warning, "Sends without a copy are io_uring's alone: on epoll all are copied.")]
    public partial void AllCopied();

    [LoggerMessage(111, LogLevel.Warning, "Registered files are io_uring's alone: on epoll sockets go by their descriptors.")]
    public partial void NothingRegistered();

    [LoggerMessage(112, LogLevel.Warning, "Registered buffers are io_uring's alone: on epoll files are read into other memory.")]
    public partial void NothingPinned();

    [LoggerMessage(200, LogLevel.Warning, "Accepting on {EndPoint} pauses: {Reason}.")]
    public partial void AcceptPaused(EndPoint endPoint, string reason);

    [LoggerMessage(201, LogLevel.Warning, "The file of {EndPoint} cannot be removed: {Reason}")]
    public partial void SocketFileLeft(EndPoint endPoint, string reason);

    [LoggerMessage(202, LogLevel.Warning,
        "Turned away {Count} connections: {Served} of {Most} are open, one client may have {MostPerClient} (0: all), or memory is short.")]
    public partial void TurnedAway(long count, int served, int most, int mostPerClient);

    [LoggerMessage(300, LogLevel.Error, "A connection handler failed; its connection is reset.")]
    public partial void HandlerFailed(Exception error);

    [LoggerMessage(302, LogLevel.Error, "{Count} reads of files failed, the last one: {Reason}.")]
    public partial void FileFaults(long count, string reason);

    [LoggerMessage(303, LogLevel.Warning,
        "Ended {Count} connections that should come by a proxy (PROXY protocol); the last one from {Peer}: {Reason}.")]
    public partial void PrefaceRefused(long count, EndPoint? peer, string reason);

    [LoggerMessage(301, LogLevel.Error, "A stage of a connection failed; the connection is reset.")]
    public partial void StageFailed(Exception error);
}
