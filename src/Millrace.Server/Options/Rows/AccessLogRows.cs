using Millrace.Server.AccessLog;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>A line for each request, and where it goes.</summary>
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
            Help = "Write a line for each request to a file (opened anew on SIGUSR1), the standard output or the system's log.",
            Apply = static (options, text) => text.Length > 0
                ? options with { AccessLog = options.AccessLog with { Destination = text } }
                : throw new SiteException($"An access log has no name: write {LogDestination.Forms}."),
        },
        ChoiceRow.Of(Format, "log.access-format", OptionChange.AtRestart, "How the lines of the access log are written.",
            Formats, "no format of an access log",
            static options => options.AccessLog.Format,
            static (options, format) => options with { AccessLog = options.AccessLog with { Format = format } }),
    ];

    public static void Check(ServeOptions options, SettingSet settings, ICollection<Complaint> complaints)
    {
        if (options.AccessLog.Destination is null && settings.Find(OptionTable.Get(Format)) is { } lonely)
        {
            complaints.Add(Complaint.OfLonely(lonely, "the access log", OptionTable.Get(Destination)));
        }
    }
}
