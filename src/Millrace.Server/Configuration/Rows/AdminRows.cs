using System.Net;
using Millrace.Server.AccessLog;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options of the access log, the admin pages and metrics export.</summary>
internal static class AdminRows
{
    private static readonly OptionGroup Log = new("log", OptionChange.AtRestart);
    private static readonly OptionGroup Admin = new("admin", OptionChange.AtRestart);

    private static readonly OrderedDictionary<string, AccessLogFormat> Formats = new()
    {
        ["combined"] = AccessLogFormat.Combined,
        ["common"] = AccessLogFormat.Common,
        ["json"] = AccessLogFormat.Json,
    };

    public static IEnumerable<ServerOption> All =>
    [
        Log.Text("access-log", OptionValueKind.Text, LogDestination.Forms,
            "Write an access log: to a file (reopened on SIGUSR1), to standard output (-), or to syslog (syslog:SOCKET: to another "
            + "socket).",
            static (options, text) => text.Length > 0
                ? options with { AccessLog = options.AccessLog with { Destination = text } }
                : throw new SiteException("The destination is missing.", "Use a file, '-' or 'syslog'."),
            path: "access") with { PathAt = LogDestination.PathAt },
        Log.Choice("access-log-format", "an access log format", "Format of the access log.", Formats,
            static options => options.AccessLog.Format,
            static (options, format) => options with { AccessLog = options.AccessLog with { Format = format } },
            path: "access-format"),
        Admin.Text("admin", OptionValueKind.Address, "ADDR",
            "Serve metrics, health checks and a live page on this address: 9180 (this machine only), 0.0.0.0:9180, "
            + "[::]:9180 or unix:/run/x.sock. The pages have no password: do not expose them to the public.",
            static (options, text) => options with { Admin = options.Admin with { Address = ParseAddress(text) } },
            path: "listen"),
        Admin.Texts("admin-host", OptionValueKind.Text, "NAME",
            "Host name for the admin pages, in addition to localhost and IP addresses.",
            static (options, text) => options with { Admin = options.Admin with { Hosts = [.. options.Admin.Hosts, CheckedHost(text)] } },
            path: "host"),
        Admin.Text("otlp", OptionValueKind.Text, "URL",
            "Send metrics to an OpenTelemetry collector over OTLP, such as http://127.0.0.1:4318. The OTEL_ environment "
            + "variables apply too; this URL overrides theirs.",
            static (options, text) => options with { Admin = options.Admin with { Collector = ParseUrl(text) } }),
    ];

    /// <summary>A port alone means this machine only, unlike a site's address: the pages are not public.</summary>
    private static EndPoint ParseAddress(string text) =>
        ListenAddress.TryParsePort(text, out ushort port) ? new IPEndPoint(IPAddress.Loopback, port)
        : text is not [':', ..] && ListenAddress.TryParse(text, out EndPoint? endPoint) ? endPoint
        : throw new SiteException(
            $"'{text}' is not a valid address.", "Use 9180 (this machine only), 0.0.0.0:9180, [::]:9180 or unix:/run/x.sock.");

    private static string CheckedHost(string text) => Uri.CheckHostName(text) == UriHostNameType.Unknown
        ? throw new SiteException($"'{text}' is not a valid host name: omit scheme and port.")
        : text;

    private static Uri ParseUrl(string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && (url.Scheme == Uri.UriSchemeHttp || url.Scheme == Uri.UriSchemeHttps)
            ? url
            : throw new SiteException($"'{text}' is not a valid collector URL: use the form http://127.0.0.1:4318.");
}

/// <summary>Privileges that the process drops after its start.</summary>
internal static class ServiceRows
{
    private static readonly OptionGroup Group = new("service", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Group.Text("user", OptionValueKind.Text, "NAME[:GROUP]",
            "Run as this user after addresses are bound and certificates are read. Needs root.",
            static (options, text) => text.Split(':') is [{ Length: > 0 }] or [{ Length: > 0 }, { Length: > 0 }]
                ? options with { Service = options.Service with { User = text } }
                : throw new SiteException($"'{text}' is not a valid user: use NAME or NAME:GROUP.")),
        Group.Switch("seccomp",
            "Deny system calls that serving does not need: starting programs, mounting, debugging and others.",
            static options => options.Service.FiltersCalls,
            static (options, isOn) => options with { Service = options.Service with { FiltersCalls = isOn } }),
    ];
}
