using System.Globalization;
using System.Net;
using Millrace.Server.Admin;
using Millrace.Server.Configuration.Settings;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options of the admin pages and of metrics export.</summary>
internal static class AdminRows
{
    private const string Address = "admin";
    private const string Host = "admin-host";

    public static IEnumerable<ServerOption> All =>
    [
        new()
        {
            Key = Address,
            Path = "admin.listen",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Address,
            ValueForm = "ADDR",
            Help = "Serve metrics, health checks and a live dashboard on this address: 9180 (this machine only), 0.0.0.0:9180, "
                + "[::]:9180 or unix:/run/x.sock. They need no password: do not expose them to the public.",
            Apply = static (options, text) => options.WithAdmin(admin => admin with { Address = ParseAddress(text) }),
        },
        new()
        {
            Key = Host,
            Path = "admin.host",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "NAME",
            Occurrence = OptionOccurrence.Repeatable,
            Help = "Host name for the admin pages, in addition to localhost and IP addresses.",
            Apply = static (options, text) => options.WithAdmin(admin => admin with { Hosts = [.. admin.Hosts, CheckedHost(text)] }),
        },
        new()
        {
            Key = "otlp",
            Path = "admin.otlp",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "URL",
            Help = "Send metrics to an OpenTelemetry collector over OTLP, such as http://127.0.0.1:4318. The OTEL_ environment "
                + "variables apply too.",
            Apply = static (options, text) => options.WithAdmin(admin => admin with { Collector = ParseUrl(text) }),
        },
    ];

    /// <summary>Checks combinations of options.</summary>
    public static void Check(ServeOptions options, SettingSet settings, ICollection<OptionError> errors)
    {
        if (options.Admin.Address is null && settings.Find(OptionTable.Get(Host)) is { } dependent)
        {
            errors.Add(OptionError.OfDependent(dependent, "the admin pages", OptionTable.Get(Address)));
        }
    }

    /// <summary>A port alone means this machine only, unlike a site's address: the pages are not public.</summary>
    private static EndPoint ParseAddress(string text) =>
        ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port) ? new IPEndPoint(IPAddress.Loopback, port)
        : ListenAddress.TryParse(text, out EndPoint? endPoint) ? endPoint
        : throw new SiteException($"'{text}' is not a valid address: use 9180 (this machine only), 0.0.0.0:9180 or unix:/run/x.sock.");

    private static string CheckedHost(string text) => Uri.CheckHostName(text) == UriHostNameType.Unknown
        ? throw new SiteException($"'{text}' is not a valid host name: omit scheme and port.")
        : text;

    private static Uri ParseUrl(string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && (url.Scheme == Uri.UriSchemeHttp || url.Scheme == Uri.UriSchemeHttps)
            ? url
            : throw new SiteException($"'{text}' is not a valid collector URL: use the form http://127.0.0.1:4318.");

    private static ServeOptions WithAdmin(this ServeOptions options, Func<AdminOptions, AdminOptions> change) =>
        options with { Admin = change(options.Admin) };
}
