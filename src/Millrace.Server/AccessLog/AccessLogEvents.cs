using Microsoft.Extensions.Logging;

namespace Millrace.Server.AccessLog;

/// <summary>Log messages about the access log. Event ids are stable: 70x.</summary>
internal sealed partial class AccessLogEvents(ILogger logger)
{
    [LoggerMessage(700, LogLevel.Warning,
        "{Count} access log lines dropped ({Total} in total): {Name} is slower than requests arrive.")]
    public partial void Dropped(long count, long total, string name);

    [LoggerMessage(701, LogLevel.Error, "Writing the access log to {Name} failed: {Reason}. Retrying every second.")]
    public partial void Failed(string name, string reason);

    [LoggerMessage(702, LogLevel.Information, "Writing the access log to {Name} works again after {Faults} failed attempts.")]
    public partial void Recovered(string name, long faults);

    [LoggerMessage(703, LogLevel.Error,
        "Reopening the access log at {Name} failed: {Reason}. Keeping the open file and retrying every second.")]
    public partial void NotReopened(string name, string reason);

    [LoggerMessage(704, LogLevel.Information, "The access log was reopened at {Name}.")]
    public partial void Reopened(string name);

    [LoggerMessage(705, LogLevel.Warning, "Shutdown timed out flushing the access log to {Name}; the remaining lines are lost.")]
    public partial void Abandoned(string name);
}
