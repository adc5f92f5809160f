using System.Net;
using Millrace.Server.Configuration.Settings;
using Millrace.Server.Https;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options of HTTPS.</summary>
internal static class HttpsRows
{
    private const string Group = "https.";
    private const string Address = "https";
    private const string Hsts = "hsts";
    private const string Redirect = "https-redirect";
    private const string Key = "key";
    private const string Password = "key-password";

    /// <summary>Only this machine by default, as for HTTP.</summary>
    private const string DefaultAddress = "127.0.0.1:8443";

    /// <summary>One year, as browsers' preload lists require.</summary>
    private const string DefaultHstsSeconds = "31536000";

    private const long HstsSecondsMax = int.MaxValue;

    private static readonly OrderedDictionary<string, HostCheckMode> HostChecks = new()
    {
        ["auto"] = HostCheckMode.Auto,
        ["on"] = HostCheckMode.On,
        ["off"] = HostCheckMode.Off,
    };

    public static IEnumerable<ServerOption> All => [.. AddressOptions(), .. CertificateOptions(), .. PolicyOptions()];

    /// <summary>Checks combinations of options.</summary>
    public static void Check(ServeOptions options, SettingSet settings, ICollection<OptionError> errors)
    {
        bool hasPlain = options.Addresses.Count > 0;
        ServerOption redirect = OptionTable.Get(Redirect);
        if (options.Https.Addresses.Count == 0)
        {
            foreach (Setting dependent in settings.All.Where(static setting => IsAboutHttps(setting)))
            {
                errors.Add(OptionError.OfDependent(dependent, "HTTPS", OptionTable.Get(Address)));
            }

            return;
        }

        if (options.Https.Redirects && !hasPlain)
        {
            AddError(settings, redirect, errors, static (origin, name) =>
                $"{name} needs an HTTP address to redirect from: add {origin.NameOf(OptionTable.Get("listen"))}, for example --listen 80.");
        }

        if (options.Https.Redirects && !options.Https.Addresses.Any(static address => address is IPEndPoint))
        {
            AddError(settings, redirect, errors, static (origin, name) =>
                $"{name} needs an HTTPS port to redirect to: add {origin.NameOf(OptionTable.Get(Address))}, for example --https 443.");
        }

        if (options.Https.HstsSeconds is not null && hasPlain && !options.Https.Redirects)
        {
            AddError(settings, OptionTable.Get(Hsts), errors, (origin, name) =>
                $"{name} together with plain HTTP needs {origin.NameOf(redirect)}: it must not be sent over HTTP (RFC 6797, section 7.2).");
        }

        if (options.Https.KeyPaths.Count > 0 && options.Https.KeyPaths.Count != options.Https.CertificatePaths.Count)
        {
            AddError(settings, OptionTable.Get(Key), errors, static (origin, name) =>
                $"Each {origin.NameOf(OptionTable.Get("cert"))} needs one {name}, in the same order: the counts differ.");
        }

        CheckPasswords(options.Https, settings, errors);
    }

    private static void CheckPasswords(HttpsOptions https, SettingSet settings, ICollection<OptionError> errors)
    {
        int passwords = https.KeyPasswordPaths.Count;
        if (passwords > 0 && https.CertificatePaths.Count == 0)
        {
            AddError(settings, OptionTable.Get(Password), errors, static (origin, name) =>
                $"{name} needs a certificate: add {origin.NameOf(OptionTable.Get("cert"))} and its key.");
        }
        else if (passwords > 1 && passwords != https.CertificatePaths.Count)
        {
            AddError(settings, OptionTable.Get(Password), errors, static (origin, name) =>
                $"Use one {name} for all keys, or one for each {origin.NameOf(OptionTable.Get("cert"))}: the counts differ.");
        }
    }

    private static bool IsAboutHttps(Setting setting) =>
        setting.Option.Path.StartsWith(Group, StringComparison.Ordinal) && setting.Values.Any(static value => value.Text != "off");

    private static void AddError(
        SettingSet settings, ServerOption option, ICollection<OptionError> errors, Func<SettingOrigin, string, string> text)
    {
        if (settings.Find(option) is { } setting)
        {
            errors.Add(new OptionError(setting.Origin, text(setting.Origin, setting.Name)));
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
            Help = $"Serve HTTPS on this address; --{Address} alone means {DefaultAddress}. Without --cert a self-signed certificate "
                + "is generated, which browsers warn about.",
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
            Help = "PEM file with the certificate and its chain. Several certificates need a --key each; clients get the one for "
                + "their host name.",
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
            Help = "PEM file with the certificate's private key.",
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
            Help = "File whose first line is the password of an encrypted key: one for all keys, or one per key.",
            Apply = static (options, text) =>
                options.WithHttps(https => https with { KeyPasswordPaths = [.. https.KeyPasswordPaths, text] }),
        },
    ];

    private static IEnumerable<ServerOption> PolicyOptions() =>
    [
        SwitchRow.Of(Redirect, Group + "redirect", OptionChange.AtReload, "Redirect HTTP requests on --listen to HTTPS.",
            static options => options.Https.Redirects,
            static (options, isOn) => options.WithHttps(https => https with { Redirects = isOn })),
        ChoiceRow.Of("host-check", Group + "host-check", OptionChange.AtReload,
            "Respond 421 to requests for hosts that the connection's certificate does not cover. auto: only with several hosts "
            + "and --cert. Requests from a --trusted-proxy are not checked.",
            HostChecks, "a host check mode",
            static options => options.Https.HostCheck,
            static (options, chosen) => options.WithHttps(https => https with { HostCheck = chosen })),
        new()
        {
            Key = Hsts,
            Path = Group + Hsts,
            Kind = OptionValueKind.Seconds,
            ValueForm = "SECONDS",
            Range = (0, HstsSecondsMax),
            BareValue = DefaultHstsSeconds,
            BareNote = BareNote.InHelp,
            Help = $"Tell browsers to use only HTTPS for this time (Strict-Transport-Security). --{Hsts} alone means one year.",
            Apply = static (options, text) => options.WithHttps(https => https with
            {
                HstsSeconds = NumberRow.Parse(OptionValueKind.Seconds, text, 0, HstsSecondsMax),
            }),
        },
        new()
        {
            Key = "client-ca",
            Path = Group + "client-ca",
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Help = "Require client certificates issued by an authority in this PEM file.",
            Apply = static (options, text) => options.WithHttps(https => https with { ClientAuthorities = text }),
        },
        new()
        {
            Key = "tls-key-log",
            Path = Group + "key-log",
            Kind = OptionValueKind.File,
            ValueForm = "FILE",
            Help = "Append the TLS secrets of all connections to a file, for Wireshark. For debugging only.",
            Apply = static (options, text) => options.WithHttps(https => https with { KeyLog = text }),
        },
    ];

    private static ServeOptions WithHttps(this ServeOptions options, Func<HttpsOptions, HttpsOptions> change) =>
        options with { Https = change(options.Https) };
}
