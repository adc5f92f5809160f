using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Host;

namespace Millrace.Server.AccessLog;

/// <summary>Parses the destination of an access log.</summary>
internal static class LogDestination
{
    public const string Forms = "FILE|-|syslog";

    private const string Syslog = "syslog";
    private const string SyslogAt = "syslog:";

    /// <summary>Offset of a file's or socket's path in the text; -1 for none.</summary>
    public static int PathAt(string text) => text switch
    {
        "-" or Syslog => -1,
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => SyslogAt.Length,
        _ => 0,
    };

    /// <summary><c>-</c>, <c>syslog</c> or <c>syslog:SOCKET</c>; any other text is a file's path.</summary>
    /// <param name="text">The configured text.</param>
    /// <param name="owner">The user who gets a file that root creates; null for no change of owner.</param>
    public static ILogSink Of(string text, ServiceUser? owner = null) => text switch
    {
        "-" => new OutputSink(),
        Syslog => new SyslogSink(SyslogSink.DefaultPath),
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => new SyslogSink(text[SyslogAt.Length..]),
        _ => new FileSink(text, owner),
    };
}
