using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Numerics;
using Millrace.Engine.Listening;
using Millrace.Server.Configuration.Rows;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration;

/// <summary>Checks across options, after each value alone is valid.</summary>
internal static class OptionChecks
{
    private const string AcmeEmail = "acme.email";
    private const string PublicPorts = " (ports 443 and 80)";
    private const string UpstreamAuthorities = "upstreams.proxy-ca";

    /// <summary>Options that have no effect without another: a prefix of their path, the subject of that other one, and its row.</summary>
    private static readonly (string Path, string Subject, string Needed, Func<ServeOptions, bool> IsThere)[] Dependents =
    [
        ("https.", "HTTPS", "https", static options => options.Https.Addresses.Count > 0),
        ("acme.", "certificates to obtain", "acme", static options => options.Acme.IsOn),
        (AcmeEmail, "HTTPS", "https", static options => options.Https.Addresses.Count > 0),
        ("proxies.client-field", "a proxy to trust", "trusted-proxy", TrustsProxies),
        ("unix-mode", "a unix socket", "listen", static options => options.Https.Addresses.Concat(options.Addresses)
            .Append(options.Admin.Address).Any(static address => address is UnixDomainSocketEndPoint)),
        ("forward-auth-copy", "a service that decides on access", "forward-auth",
            static options => options.Sites.Any(static hosted => hosted.Site.ForwardAuth.Count > 0)),
        ("realm", "a password file", "auth", static options => options.Sites.Any(static hosted => hosted.Site.PasswordFiles.Any())),
        ("archives", "listings", "listing", static options => options.Sites.Any(static hosted => hosted.Site.Listing)),
        ("archives-max", "archives", "archives",
            static options => options.Sites.Any(static hosted => hosted.Site.Archives != ArchiveFormats.None)),
        ("dictionaries", "HTTPS", "https", static options => options.Https.Addresses.Count > 0 || TrustsProxies(options)),
        ("page-dictionary", "HTTPS", "https", static options => options.Https.Addresses.Count > 0 || TrustsProxies(options)),
        ("dictionary-", "dictionaries", "dictionaries", UsesDictionaries),
        ("proxy-via", "an application", "proxy", UsesApplications),
        ("proxy-forwarded", "an application", "proxy", UsesApplications),
        (UpstreamAuthorities, "an application with https", "proxy",
            static options => !UsesApplications(options) || UsesTlsApplications(options)),
        ("upstreams.", "an application", "proxy", UsesApplications),
        ("limits.rate-limit-memory", "a limit of requests", "rate-limit",
            static options => options.Sites.Any(static hosted => hosted.Site.RateLimits.Count > 0)),
        ("log.access-format", "the access log", "access-log", static options => options.AccessLog.Destination is not null),
        ("admin.host", "the admin pages", "admin", static options => options.Admin.Address is not null),
    ];

    /// <summary>
    /// Combinations that are not valid: the option to which the error belongs, when it applies, and the text, whose flags become the
    /// names in the source of that setting.
    /// </summary>
    private static readonly (string Option, Func<ServeOptions, bool> Applies, Func<ServeOptions, SettingOrigin, string> Text)[] Conflicts =
    [
        ("https-redirect", static options => options.Https is { Redirects: true, Addresses.Count: > 0 } && options.Addresses.Count == 0,
            static (_, _) => "--https-redirect needs an HTTP address to redirect from: add --listen, for example 80."),
        ("https-redirect",
            static options => options.Https is { Redirects: true, Addresses.Count: > 0 }
                && !options.Https.Addresses.Any(static address => address is IPEndPoint),
            static (_, _) => "--https-redirect needs an HTTPS port to redirect to: add --https, for example 443."),
        ("hsts",
            static options => options.Https is { HstsSeconds: not null, Redirects: false, Addresses.Count: > 0 }
                && options.Addresses.Count > 0,
            static (_, _) => "--hsts together with plain HTTP needs --https-redirect: it must not be sent over HTTP (RFC 6797, section "
                + "7.2)."),
        ("acme", static options => options.Acme.IsOn && options.Acme.NamesFor(options.Hosts).Count == 0,
            static (_, _) => "--acme needs a host to obtain a certificate for: add --domain, for example example.org."),
        ("acme", static options => options.Acme is { IsOn: true, DnsHook: null } && options.Https.Addresses.Count > 0
                && !options.ListensOnTcp,
            static (_, _) => "--acme needs a TCP address, where the authority can validate: add --https, for example 443."),
        ("acme",
            static options => options.Acme is { IsOn: true, DnsHook: null } && options.Acme.NamesFor(options.Hosts)
                .SelectMany(static names => names).Any(static name => name.StartsWith("*.", StringComparison.Ordinal)),
            static (_, _) => "A wildcard can be validated by DNS only: add --acme-dns-hook, a program that sets TXT records, or name "
                + "the hosts with --domain."),
        ("acme-staging", static options => options.Acme is { IsStaging: true, Server: not null },
            static (_, _) => "--acme-staging is Let's Encrypt's, and --acme-server names another authority: use one."),
        ("acme-dns-hook", static options => options.Acme is { IsOn: true, DnsHook: not null } && options.Service.FiltersCalls,
            static (_, _) => "--acme-dns-hook starts a program, which --seccomp denies: use one."),
        ("dictionaries", static options => options.Sites.Any(static hosted => hosted.Site is { Dictionaries: true, Compression: false }),
            static (_, origin) => $"--dictionaries needs {origin.SwitchedOn("compress")}."),
        ("page-dictionary",
            static options => options.Sites.Any(static hosted => hosted.Site is { PageDictionary: true, Compression: false }),
            static (_, origin) => $"--page-dictionary needs {origin.SwitchedOn("compress")}."),
        ("key", static options => options.Https is { KeyPaths.Count: > 0, CertificatePaths.Count: 0, Addresses.Count: > 0 },
            static (_, _) => "--key has no certificate: add --cert."),
        ("key",
            static options => options.Https is { KeyPaths.Count: > 0, CertificatePaths.Count: > 0, Addresses.Count: > 0 }
                && options.Https.KeyPaths.Count != options.Https.CertificatePaths.Count,
            static (options, _) => "Each --cert needs one --key, in the same order: there are "
                + $"{options.Https.CertificatePaths.Count} and {options.Https.KeyPaths.Count}."),
        ("key-password",
            static options => options.Https is { KeyPasswordPaths.Count: > 0, CertificatePaths.Count: 0, Addresses.Count: > 0 },
            static (_, _) => "--key-password needs a certificate: add --cert and its key."),
        ("key-password",
            static options => options.Https is { KeyPasswordPaths.Count: > 1, CertificatePaths.Count: > 0, Addresses.Count: > 0 }
                && options.Https.KeyPasswordPaths.Count != options.Https.CertificatePaths.Count,
            static (options, _) => "Use one --key-password for all keys, or one for each --cert: there are "
                + $"{options.Https.KeyPasswordPaths.Count} and {options.Https.CertificatePaths.Count}."),
        ("http3",
            static options => options.Https is { Http3: true, Addresses.Count: > 0 } && !options.Http3Addresses.Any(),
            static (options, _) => options.Https.Addresses.Any(static address => address is IPEndPoint)
                ? "--http3 is not possible where proxies announce clients (--proxy-protocol): let one address of --https be without."
                : "--http3 needs an HTTPS port: add --https, for example 443."),
        ("http3-port", static options => options.Https is { Http3: false, Addresses.Count: > 0 },
            static (_, origin) => $"--http3-port needs {origin.SwitchedOn("http3")}."),
        ("qlog", static options => options.Https is { Http3: false, Addresses.Count: > 0 },
            static (_, origin) => $"--qlog needs {origin.SwitchedOn("http3")}."),
        ("proxy-protocol", static options => options.Proxies.Trusted.Count == 0 && ExpectsProxiesOverTcp(options),
            static (_, _) => "--proxy-protocol needs to know who may send it: add --trusted-proxy, for example 10.0.0.0/8."),
        ("shared-submission-polling", static options => options.Engine is { SharedSubmissionPolling: true, SubmissionPolling.Ticks: 0 },
            static (_, _) => "--shared-submission-polling has no effect without --submission-polling: set that as well."),
    ];

    private static bool TrustsProxies(ServeOptions options) => options.Proxies.Trusted.Count > 0 || options.Proxies.TrustsUnix;

    private static bool UsesApplications(ServeOptions options) =>
        options.Sites.Any(static hosted => hosted.Site.UpstreamRules.Any() || hosted.Site.ProxyAllow.Count > 0);

    private static bool UsesTlsApplications(ServeOptions options) => options.Sites.Any(static hosted => hosted.Site.UpstreamRules
        .SelectMany(static rule => rule.Targets).Concat(hosted.Site.ProxyAllow).Any(static target => ProxyTarget.Parse(target).IsTls));

    private static bool UsesDictionaries(ServeOptions options) =>
        options.Sites.Any(static hosted => hosted.Site.Dictionaries || hosted.Site.PageDictionary);

    /// <param name="options">The options, with their default addresses.</param>
    /// <param name="settings">What they were made from.</param>
    /// <param name="errors">Errors are added to it.</param>
    /// <param name="started">The options that a running server was started with; null at a start.</param>
    public static void Check(ServeOptions options, SettingSet settings, ICollection<OptionError> errors, ServeOptions? started)
    {
        foreach ((string path, string subject, string needed, Func<ServeOptions, bool> isThere) in Dependents)
        {
            foreach (Setting setting in isThere(options) ? [] : settings.All.Where(setting => IsSet(setting, path)))
            {
                string missing = setting.Origin.NameOf(OptionTable.Get(needed));
                string value = (needed, setting.Origin.Source) switch
                {
                    ("https", SettingSource.Flag) when path == AcmeEmail => PublicPorts,
                    ("https", SettingSource.File) when path == AcmeEmail => $": true{PublicPorts}",
                    ("https", SettingSource.Flag) => $" (port 8443, this machine only) or {missing} 443",
                    ("https", _) => ", for example 443",
                    ("admin", _) => ", for example 9180",
                    ("listen", _) => ", for example unix:/run/millrace.sock",
                    _ => "",
                };
                AddError(setting, $"{NameOf(setting)} has no effect without {subject}: add {missing}{value}.");
            }
        }

        foreach ((string option, Func<ServeOptions, bool> applies, Func<ServeOptions, SettingOrigin, string> text) in Conflicts)
        {
            if (settings.Find(option) is { } setting && applies(options))
            {
                AddError(setting, OptionNames.In(text(options, setting.Origin), setting.Origin.NameOf));
            }
        }

        if (settings.Find("proxy-protocol") is { } protocol)
        {
            foreach (string text in protocol.Values.Select(static value => value.Text))
            {
                if (DescribeUnknown(options, protocol.Origin, text) is { } problem)
                {
                    AddError(protocol, $"{NameOf(protocol)}: {problem}");
                }
            }
        }

        CheckUniqueAddresses();

        // The kernel rounds submission entries up to a power of two and refuses fewer completion entries.
        uint least = BitOperations.RoundUpToPowerOf2((uint)options.Engine.SubmissionEntries);
        if ((settings.Find("completion-entries") ?? settings.Find("submission-entries")) is { } entries
            && options.Engine.CompletionEntries < least)
        {
            string fewer = entries.Origin.NameOf(OptionTable.Get("completion-entries"));
            string more = entries.Origin.NameOf(OptionTable.Get("submission-entries"));
            AddError(entries, string.Create(CultureInfo.InvariantCulture, $"{fewer} is less than {more}: use at least {least}."));
        }

        void AddError(Setting setting, string text) => errors.Add(new OptionError(setting.Origin, text));

        void CheckUniqueAddresses()
        {
            var seen = new List<(EndPoint Address, string Key)>();
            CheckNext(ListenRows.Listen, options.Addresses);
            CheckNext("https", options.Https.Addresses);

            // The admin pages stay where they are until a restart, and their sockets share no port.
            if ((started ?? options).Admin.Address is { } admin)
            {
                (EndPoint site, string? key) =
                    seen.Find(other => AreSame(admin, other.Address) || SocketEndPoint.Overlap(admin, other.Address));
                if (key is not null && settings.Find(started is null ? "admin" : key) is { } setting)
                {
                    AddError(setting, started is not null ? $"{NameOf(setting)}: {admin} is used by the admin pages until a restart."
                        : settings.Find(key) is null ? $"{NameOf(setting)}: the sites are served on {site} by default: use another address."
                        : TwiceText(setting, admin));
                }
            }

            void CheckNext(string key, IEnumerable<EndPoint> addresses)
            {
                foreach (EndPoint address in addresses)
                {
                    if (seen.Exists(other => AreSame(address, other.Address)) && settings.Find(key) is { } setting)
                    {
                        AddError(setting, TwiceText(setting, address));
                    }

                    seen.Add((address, key));
                }
            }
        }
    }

    /// <summary>What is wrong with an address that is to expect the PROXY protocol; null if it is one that is listened on.</summary>
    private static string? DescribeUnknown(ServeOptions options, SettingOrigin origin, string text)
    {
        EndPoint[] known = [.. options.Addresses, .. options.Https.Addresses];
        if (!ListenAddress.TryParse(text, out EndPoint? address) || known.Contains(address))
        {
            return null;
        }

        string cause = $"not an address of {origin.NameOf("listen")} or {origin.NameOf("https")}";
        EndPoint? near = known.FirstOrDefault(other => (other, address) is (IPEndPoint one, IPEndPoint two) && one.Port == two.Port);
        bool isPort = SocketEndPoint.IsAny(address) && text != address.ToString();
        string alone = origin.Source switch
        {
            SettingSource.Flag => $", or {origin.NameOf("proxy-protocol")} alone for all",
            SettingSource.File => ", or true for all",
            _ => "",
        };
        return isPort && near is not null
            ? $"{text} means all interfaces ({address}), which is {cause}. Write {near}{alone}."
            : $"{address} is {cause}: name one that is.";
    }

    /// <summary>Port 0 is another port each time.</summary>
    private static bool AreSame(EndPoint one, EndPoint other) => one is not IPEndPoint { Port: 0 } && one.Equals(other);

    private static string TwiceText(Setting setting, EndPoint address) =>
        $"{NameOf(setting)}: {address} is used twice: give each address or port once.";

    private static string NameOf(Setting setting) => setting.Origin.NameOf(setting.Option);

    private static bool IsSet(Setting setting, string path) => setting.Option.Path.StartsWith(path, StringComparison.Ordinal)
        && setting.Values.Any(static value => value.Text != "off");

    private static bool ExpectsProxiesOverTcp(ServeOptions options) => options.Addresses.Concat(options.Https.Addresses)
        .Any(address => address is not UnixDomainSocketEndPoint && options.Proxies.Expects(address));
}
