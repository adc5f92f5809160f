using System.Net;
using Microsoft.Extensions.Logging;

namespace Millrace.Engine;

/// <summary>The engine's log lines. Event ids are stable: 1xx reactors, 2xx listeners, 3xx connections.</summary>
internal sealed partial class EngineLog(ILogger logger)
{
    [LoggerMessage(100, LogLevel.Debug, "{Reactors} reactors started on {Backend}.")]
    public partial void Started(int reactors, string backend);

    [LoggerMessage(101, LogLevel.Critical, "Reactor {Index} failed; the process ends.")]
    public partial void ReactorFailed(int index, Exception error);

    [LoggerMessage(102, LogLevel.Warning, "Reactor {Index} stops with {Count} connections that go on; their memory stays.")]
    public partial void ConnectionsLeft(int index, int count);

    [LoggerMessage(103, LogLevel.Warning, "{Cause}; serving on epoll instead. To have io_uring, {Remedy}.")]
    public partial void FellBack(string cause, string remedy);

    [LoggerMessage(200, LogLevel.Warning, "Accepting on {EndPoint} pauses: {Reason}.")]
    public partial void AcceptPaused(EndPoint endPoint, string reason);

    [LoggerMessage(201, LogLevel.Warning, "The file of {EndPoint} cannot be removed: {Reason}")]
    public partial void SocketFileLeft(EndPoint endPoint, string reason);

    [LoggerMessage(300, LogLevel.Error, "A connection handler failed; its connection is reset.")]
    public partial void HandlerFailed(Exception error);
}
