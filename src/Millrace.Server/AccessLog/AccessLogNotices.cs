using Microsoft.Extensions.Logging;

namespace Millrace.Server.AccessLog;

/// <summary>What the access log says of itself. Event ids are stable: 70x.</summary>
internal sealed partial class AccessLogNotices(ILogger logger)
{
    [LoggerMessage(700, LogLevel.Warning,
        "{Count} lines of the access log were dropped, {Total} in all: {Name} takes them more slowly than requests come.")]
    public partial void Dropped(long count, long total, string name);

    [LoggerMessage(701, LogLevel.Error, "The access log cannot be written to {Name}: {Reason}. It is tried again every second.")]
    public partial void Failed(string name, string reason);

    [LoggerMessage(702, LogLevel.Information, "The access log is written to {Name} again, after {Faults} attempts that failed.")]
    public partial void Recovered(string name, long faults);

    [LoggerMessage(703, LogLevel.Error,
        "The access log cannot be opened anew at {Name}: {Reason}. It goes on where it was, and is tried again every second.")]
    public partial void NotReopened(string name, string reason);

    [LoggerMessage(704, LogLevel.Information, "The access log was opened anew at {Name}.")]
    public partial void Reopened(string name);

    [LoggerMessage(705, LogLevel.Warning, "The end did not wait any longer for {Name} to take the rest of the access log.")]
    public partial void Abandoned(string name);
}
