using Millrace.Server.AccessLog;
using Millrace.Server.Configuration.Settings;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options of the access log.</summary>
internal static class AccessLogRows
{
    private const string Destination = "access-log";
    private const string Format = "access-log-format";

    private static readonly OrderedDictionary<string, AccessLogFormat> Formats = new()
    {
        ["combined"] = AccessLogFormat.Combined,
        ["common"] = AccessLogFormat.Common,
        ["json"] = AccessLogFormat.Json,
    };

    public static IEnumerable<ServerOption> All =>
    [
        new()
        {
            Key = Destination,
            Path = "log.access",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = LogDestination.Forms,
            PathAt = LogDestination.PathAt,
            Help = "Write an access log to a file (reopened on SIGUSR1), to standard output or to syslog.",
            Apply = static (options, text) => text.Length > 0
                ? options with { AccessLog = options.AccessLog with { Destination = text } }
                : throw new SiteException("--access-log needs a destination: a file, '-' or 'syslog'."),
        },
        ChoiceRow.Of(Format, "log.access-format", OptionChange.AtRestart, "Format of the access log.",
            Formats, "an access log format",
            static options => options.AccessLog.Format,
            static (options, format) => options with { AccessLog = options.AccessLog with { Format = format } }),
    ];

    public static void Check(ServeOptions options, SettingSet settings, ICollection<OptionError> errors)
    {
        if (options.AccessLog.Destination is null && settings.Find(OptionTable.Get(Format)) is { } dependent)
        {
            errors.Add(OptionError.OfDependent(dependent, "the access log", OptionTable.Get(Destination)));
        }
    }
}
