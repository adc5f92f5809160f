using System.Globalization;
using System.Net;
using Millrace.Server.Admin;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>The admin pages, and measurements that are sent elsewhere.</summary>
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
            Help = "Show metrics, health and a live page there: 9180 (this machine only), 0.0.0.0:9180, [::]:9180 or unix:/run/x.sock. "
                + "There are no passwords: keep it from the public.",
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
            Help = "A name by which the admin pages may be asked for, besides localhost and IP addresses.",
            Apply = static (options, text) => options.WithAdmin(admin => admin with { Hosts = [.. admin.Hosts, CheckedHost(text)] }),
        },
        new()
        {
            Key = "otlp",
            Path = "admin.otlp",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "URL",
            Help = "Send metrics to an OpenTelemetry collector, over OTLP: http://127.0.0.1:4318. Its OTEL_ variables apply too.",
            Apply = static (options, text) => options.WithAdmin(admin => admin with { Collector = ParseUrl(text) }),
        },
    ];

    /// <summary>What does not go together.</summary>
    public static void Check(ServeOptions options, SettingSet settings, ICollection<Complaint> complaints)
    {
        if (options.Admin.Address is null && settings.Find(OptionTable.Get(Host)) is { } lonely)
        {
            complaints.Add(Complaint.OfLonely(lonely, "the admin pages", OptionTable.Get(Address)));
        }
    }

    /// <summary>A port alone is this machine only, unlike a site's: these pages are not for everybody.</summary>
    private static EndPoint ParseAddress(string text) =>
        ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port) ? new IPEndPoint(IPAddress.Loopback, port)
        : ListenAddress.TryParse(text, out EndPoint? endPoint) ? endPoint
        : throw new SiteException($"'{text}' is not an address: write 9180 (this machine only), 0.0.0.0:9180 or unix:/run/x.sock.");

    private static string CheckedHost(string text) => Uri.CheckHostName(text) == UriHostNameType.Unknown
        ? throw new SiteException($"'{text}' is not a host's name: write it without scheme and port.")
        : text;

    private static Uri ParseUrl(string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out Uri? url) && (url.Scheme == Uri.UriSchemeHttp || url.Scheme == Uri.UriSchemeHttps)
            ? url
            : throw new SiteException($"'{text}' is not a collector's URL: write it as http://127.0.0.1:4318.");

    private static ServeOptions WithAdmin(this ServeOptions options, Func<AdminOptions, AdminOptions> change) =>
        options with { Admin = change(options.Admin) };
}
