using Millrace.Server.AccessLog.Sinks;
using Millrace.Server.Service;

namespace Millrace.Server.AccessLog;

/// <summary>Where an access log goes, as people write it.</summary>
internal static class LogDestination
{
    public const string Forms = "FILE|-|syslog";

    private const string Syslog = "syslog";
    private const string SyslogAt = "syslog:";

    /// <summary>Where in a destination the path of a file or socket begins; -1 for one without.</summary>
    public static int PathAt(string text) => text switch
    {
        "-" or Syslog => -1,
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => SyslogAt.Length,
        _ => 0,
    };

    /// <summary><c>-</c>, <c>syslog</c> or <c>syslog:SOCKET</c>; whatever else it is, it is a file's path.</summary>
    /// <param name="text">What people wrote.</param>
    /// <param name="owner">To whom a file is given where root makes it; null for nobody else.</param>
    public static ILogSink Of(string text, ServiceUser? owner = null) => text switch
    {
        "-" => new OutputSink(),
        Syslog => new SyslogSink(SyslogSink.DefaultPath),
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => new SyslogSink(text[SyslogAt.Length..]),
        _ => new FileSink(text, owner),
    };
}
