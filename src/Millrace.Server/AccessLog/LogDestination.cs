using Millrace.Server.AccessLog.Sinks;

namespace Millrace.Server.AccessLog;

/// <summary>Where an access log goes, as people write it.</summary>
internal static class LogDestination
{
    public const string Forms = "FILE|-|syslog";

    private const string Syslog = "syslog";
    private const string SyslogAt = "syslog:";

    /// <summary><c>-</c>, <c>syslog</c> or <c>syslog:SOCKET</c>; whatever else it is, it is a file's path.</summary>
    public static ILogSink Of(string text) => text switch
    {
        "-" => new OutputSink(),
        Syslog => new SyslogSink(SyslogSink.DefaultPath),
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => new SyslogSink(text[SyslogAt.Length..]),
        _ => new FileSink(text),
    };
}
