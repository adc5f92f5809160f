using System.Net;
using Millrace.Server.Https;

namespace Millrace.Server.Configuration.Rows;

internal static class HttpsRows
{
    /// <summary>The value of --https alone; which address it means depends on other options.</summary>
    private const string ByDefault = "default";

    /// <summary>Only this machine by default, as for HTTP.</summary>
    private const string DefaultAddress = "127.0.0.1:8443";

    /// <summary>The ports of public sites, where authorities validate them.</summary>
    private const string PublicAddress = ":443";

    private const string PublicPlainAddress = ":80";

    /// <summary>One year, as browsers' preload lists require.</summary>
    private const string DefaultHstsSeconds = "31536000";

    private static readonly OptionGroup Group = new("https", OptionChange.AtReload);

    private static readonly OrderedDictionary<string, HostCheckMode> HostChecks = new()
    {
        ["auto"] = HostCheckMode.Auto,
        ["on"] = HostCheckMode.On,
        ["off"] = HostCheckMode.Off,
    };

    public static IEnumerable<ServerOption> All =>
    [
        Group.Texts("https", OptionValueKind.Address, "ADDR",
            $"Serve HTTPS on this address; --https alone means {DefaultAddress}, with --acme port 443 and a redirect from port 80. "
            + "Without --cert or --acme a self-signed certificate is generated, which browsers warn about.",
            static (options, text) => options.WithHttps(https => text == ByDefault
                ? https with { UsesDefaultAddress = true }
                : https with { Addresses = [.. https.Addresses, ListenAddress.Parse(text)] }),
            path: "listen") with { BareValue = ByDefault, ExplainsBareValue = true },
        Group.Texts("cert", OptionValueKind.File, "FILE",
            "PEM or DER file with the certificate and its chain. Of several, clients get the one for their host name.",
            static (options, text) => options.WithHttps(https => https with { CertificatePaths = [.. https.CertificatePaths, text] })),
        Group.Texts("key", OptionValueKind.File, "FILE",
            "PEM or DER file with the certificate's private key. For several --cert: none, or one for each in the same order.",
            static (options, text) => options.WithHttps(https => https with { KeyPaths = [.. https.KeyPaths, text] })) with
        {
            Default = "the file of --cert",
        },
        Group.Texts("key-password", OptionValueKind.File, "FILE",
            "File whose first line is the password of an encrypted key: one for all keys, or one per key.",
            static (options, text) => options.WithHttps(https => https with { KeyPasswordPaths = [.. https.KeyPasswordPaths, text] })),
        Group.Switch("https-redirect", "Redirect HTTP requests on --listen to HTTPS.",
            static options => options.Https.Redirects,
            static (options, isOn) => options.WithHttps(https => https with { Redirects = isOn }),
            path: "redirect"),
        Group.Choice("host-check", "a host check mode",
            "Respond 421 to requests for hosts that the connection's certificate does not cover. auto: only with several hosts, "
            + "and --cert or --acme. Requests from a --trusted-proxy are not checked.",
            HostChecks,
            static options => options.Https.HostCheck,
            static (options, chosen) => options.WithHttps(https => https with { HostCheck = chosen })),
        Group.Number(OptionValueKind.Seconds, "SECONDS", "hsts",
            "Tell browsers to use only HTTPS for this time (Strict-Transport-Security). --hsts alone means one year.",
            0, int.MaxValue,
            static options => options.Https.HstsSeconds,
            static (options, seconds) => options.WithHttps(https => https with { HstsSeconds = seconds })) with
        {
            BareValue = DefaultHstsSeconds,
            ExplainsBareValue = true,
        },
        Group.Text("client-ca", OptionValueKind.File, "FILE", "Require client certificates issued by an authority in this PEM file.",
            static (options, text) => options.WithHttps(https => https with { ClientAuthorities = text })),
        Group.Text("tls-key-log", OptionValueKind.File, "FILE",
            "Append the TLS secrets of all connections to a file, for Wireshark. For debugging only.",
            static (options, text) => options.WithHttps(https => https with { KeyLog = text }),
            path: "key-log"),
        Group.Switch("http3",
            "Serve HTTP/3 too, over UDP on the ports of --https, and offer it to clients (Alt-Svc).",
            static options => options.Https.Http3,
            static (options, isOn) => options.WithHttps(https => https with { Http3 = isOn })),
        Group.Number(OptionValueKind.Count, "PORT", "http3-port",
            "UDP port that Alt-Svc announces, if clients reach this server at another port than it listens on.",
            1, ushort.MaxValue,
            static options => options.Https.Http3Port,
            static (options, port) => options.WithHttps(https => https with { Http3Port = (int)port })) with
        {
            Default = "the port of --https",
        },
        Group.Text("qlog", OptionValueKind.Folder, "DIR",
            "Write the events of each QUIC connection to a file in this folder (qlog). For debugging only.",
            static (options, text) => options.WithHttps(https => https with { QlogFolder = text })) with
        {
            Change = OptionChange.AtRestart,
        },
    ];

    /// <summary>Adds the addresses that --https alone means, when all options are known.</summary>
    public static ServeOptions ApplyDefaultAddress(ServeOptions options)
    {
        if (!options.Https.UsesDefaultAddress)
        {
            return options;
        }

        bool isPublic = options.Acme.IsOn;
        EndPoint secure = ListenAddress.Parse(isPublic ? PublicAddress : DefaultAddress);
        bool addsPlain = isPublic && options.Addresses.Count == 0;
        return options with
        {
            Addresses = addsPlain ? [ListenAddress.Parse(PublicPlainAddress)] : options.Addresses,
            Https = options.Https with
            {
                Addresses = [.. options.Https.Addresses, secure],
                Redirects = options.Https.Redirects || addsPlain,
            },
        };
    }

    private static ServeOptions WithHttps(this ServeOptions options, Func<HttpsOptions, HttpsOptions> change) =>
        options with { Https = change(options.Https) };
}
