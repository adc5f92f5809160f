using System.Net;
using Millrace.Server.Https;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>HTTPS.</summary>
internal static class HttpsRows
{
    private const string Group = "https.";
    private const string Address = "https";
    private const string Insist = "hsts";
    private const string Redirect = "https-redirect";
    private const string Key = "key";
    private const string Password = "key-password";

    /// <summary>Only this machine, until told otherwise, as for HTTP.</summary>
    private const string DefaultAddress = "127.0.0.1:8443";

    /// <summary>A year: what browsers' lists of such hosts ask for.</summary>
    private const string DefaultInsistSeconds = "31536000";

    private const long InsistSecondsMax = int.MaxValue;

    public static IEnumerable<ServerOption> All => [.. AddressOptions(), .. CertificateOptions(), .. PolicyOptions()];

    /// <summary>What does not go together.</summary>
    public static void Check(ServeOptions options, SettingSet settings, ICollection<Complaint> complaints)
    {
        bool hasPlain = options.Addresses.Count > 0;
        ServerOption redirect = OptionTable.Get(Redirect);
        if (options.Https.Addresses.Count == 0)
        {
            foreach (Setting lonely in settings.All.Where(static setting => IsAboutHttps(setting)))
            {
                complaints.Add(Complaint.OfLonely(lonely, "HTTPS", OptionTable.Get(Address)));
            }

            return;
        }

        if (options.Https.Redirects && !hasPlain)
        {
            Complain(settings, redirect, complaints, static (origin, name) =>
                $"{name} needs an address to redirect from: give {origin.NameOf(OptionTable.Get("listen"))}, as --listen 80.");
        }

        if (options.Https.Redirects && !options.Https.Addresses.Any(static address => address is IPEndPoint))
        {
            Complain(settings, redirect, complaints, static (origin, name) =>
                $"{name} needs HTTPS on a port to lead to: give {origin.NameOf(OptionTable.Get(Address))} one, as --https 443.");
        }

        if (options.Https.InsistSeconds is not null && hasPlain && !options.Https.Redirects)
        {
            Complain(settings, OptionTable.Get(Insist), complaints, (origin, name) =>
                $"{name} beside plain HTTP needs {origin.NameOf(redirect)}: over HTTP it must not be sent (RFC 6797, section 7.2).");
        }

        if (options.Https.KeyPaths.Count > 0 && options.Https.KeyPaths.Count != options.Https.CertificatePaths.Count)
        {
            Complain(settings, OptionTable.Get(Key), complaints, static (origin, name) =>
                $"Each {origin.NameOf(OptionTable.Get("cert"))} has its {name}, in the same order: their numbers differ.");
        }

        CheckPasswords(options.Https, settings, complaints);
    }

    private static void CheckPasswords(HttpsOptions https, SettingSet settings, ICollection<Complaint> complaints)
    {
        int passwords = https.KeyPasswordPaths.Count;
        if (passwords > 0 && https.CertificatePaths.Count == 0)
        {
            Complain(settings, OptionTable.Get(Password), complaints, static (origin, name) =>
                $"{name} opens the keys of certificates: give {origin.NameOf(OptionTable.Get("cert"))}, and its key.");
        }
        else if (passwords > 1 && passwords != https.CertificatePaths.Count)
        {
            Complain(settings, OptionTable.Get(Password), complaints, static (origin, name) =>
                $"Either one {name} is for all keys, or each {origin.NameOf(OptionTable.Get("cert"))} has its own: their numbers differ.");
        }
    }

    private static bool IsAboutHttps(Setting setting) =>
        setting.Option.Path.StartsWith(Group, StringComparison.Ordinal) && setting.Values.Any(static value => value.Text != "off");

    private static void Complain(
        SettingSet settings, ServerOption option, ICollection<Complaint> complaints, Func<Origin, string, string> text)
    {
        if (settings.Find(option) is { } setting)
        {
            complaints.Add(new Complaint(setting.Origin, text(setting.Origin, setting.Name)));
        }
    }

    private static IEnumerable<ServerOption> AddressOptions() =>
    [
        new()
        {
            Key = Address,
            Path = Group + "listen",
            Kind = OptionValueKind.Address,
            ValueForm = "ADDR",
            Occurrence = OptionOccurrence.Repeatable,
            BareValue = DefaultAddress,
            BareNote = BareNote.InHelp,
            Help = $"Serve HTTPS there; --{Address} alone is {DefaultAddress}. Without --cert a local certificate is made, which "
                + "browsers ask about.",
            Apply = static (options, text) =>
                options.WithHttps(https => https with { Addresses = [.. https.Addresses, ListenAddress.Parse(text)] }),
        },
    ];

    private static IEnumerable<ServerOption> CertificateOptions() =>
    [
        new()
        {
            Key = "cert",
            Path = Group + "cert",
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Occurrence = OptionOccurrence.Repeatable,
            Help = "A PEM file: the certificate and those that lead to its root. Several have each its --key, and the names in them say "
                + "which one a client sees.",
            Apply = static (options, text) =>
                options.WithHttps(https => https with { CertificatePaths = [.. https.CertificatePaths, text] }),
        },
        new()
        {
            Key = Key,
            Path = Group + Key,
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Occurrence = OptionOccurrence.Repeatable,
            Help = "The PEM file of a certificate's private key.",
            Default = "the file of --cert",
            Apply = static (options, text) => options.WithHttps(https => https with { KeyPaths = [.. https.KeyPaths, text] }),
        },
        new()
        {
            Key = Password,
            Path = Group + Password,
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Occurrence = OptionOccurrence.Repeatable,
            Help = "The file whose first line is the password of an encrypted key. Given once it is for all keys, else each has its own.",
            Apply = static (options, text) =>
                options.WithHttps(https => https with { KeyPasswordPaths = [.. https.KeyPasswordPaths, text] }),
        },
    ];

    private static IEnumerable<ServerOption> PolicyOptions() =>
    [
        SwitchRow.Of(Redirect, Group + "redirect", OptionChange.AtReload, "Send what comes to --listen to HTTPS.",
            static options => options.Https.Redirects,
            static (options, isOn) => options.WithHttps(https => https with { Redirects = isOn })),
        new()
        {
            Key = Insist,
            Path = Group + Insist,
            Kind = OptionValueKind.Seconds,
            ValueForm = "SECONDS",
            Range = (0, InsistSecondsMax),
            BareValue = DefaultInsistSeconds,
            BareNote = BareNote.InHelp,
            Help = $"Have browsers insist on HTTPS for so long (Strict-Transport-Security). --{Insist} alone is a year.",
            Apply = static (options, text) => options.WithHttps(https => https with
            {
                InsistSeconds = NumberRow.Parse(OptionValueKind.Seconds, text, 0, InsistSecondsMax),
            }),
        },
        new()
        {
            Key = "client-ca",
            Path = Group + "client-ca",
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Help = "Serve only clients with a certificate of an authority in this PEM file.",
            Apply = static (options, text) => options.WithHttps(https => https with { ClientAuthorities = text }),
        },
        new()
        {
            Key = "tls-key-log",
            Path = Group + "key-log",
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Help = "Append the secrets of all TLS connections to a file, for Wireshark. For debugging only.",
            Apply = static (options, text) => options.WithHttps(https => https with { KeyLog = text }),
        },
    ];

    private static ServeOptions WithHttps(this ServeOptions options, Func<HttpsOptions, HttpsOptions> change) =>
        options with { Https = change(options.Https) };
}
