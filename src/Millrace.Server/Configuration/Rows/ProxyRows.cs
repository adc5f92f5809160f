using System.Net;
using System.Net.Sockets;
using Millrace.HttpServer.Clients;
using Millrace.Server.Proxies;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options for proxies in front of the server, and which of them are trusted.</summary>
internal static class ProxyRows
{
    private const string Everywhere = "all";
    private const string Unix = "unix";

    private static readonly OptionGroup Group = new("proxies", OptionChange.AtRestart);

    private static readonly OrderedDictionary<string, ClientField> Fields = new()
    {
        ["x-forwarded-for"] = ClientField.XForwardedFor,
        ["forwarded"] = ClientField.Forwarded,
        ["none"] = ClientField.None,
    };

    public static IEnumerable<ServerOption> All =>
    [
        Group.Texts("proxy-protocol", OptionValueKind.Address, "ADDR",
            "Expect the PROXY protocol (version 1 or 2) on this address of --listen or --https, from a "
            + "--trusted-proxy; --proxy-protocol alone means all addresses.",
            static (options, text) => options.WithProxies(proxies => text == Everywhere
                ? proxies with { ExpectsEverywhere = true }
                : proxies with { ExpectsAt = [.. proxies.ExpectsAt, ListenAddress.Parse(text)] }),
            path: "protocol") with { BareValue = Everywhere, ExplainsBareValue = true },
        Group.Texts("trusted-proxy", OptionValueKind.Text, $"CIDR|{Unix}",
            "Network of trusted proxies, such as 10.0.0.0/8, or 'unix' for unix sockets. The client addresses that they report "
            + "are used for logs, --rate-limit, --allow, --deny and applications; limits on connections use only those of the "
            + "PROXY protocol. Trusted proxies may request https URLs without TLS.",
            static (options, text) => options.WithProxies(proxies => text == Unix
                ? proxies with { TrustsUnix = true }
                : proxies with { Trusted = [.. proxies.Trusted, ParseNetwork(text)] }),
            path: "trusted"),
        Group.Choice("client-field", "a client field",
            "Header field to which a --trusted-proxy adds the client's address. The proxy must set it, or append to it.",
            Fields,
            static options => options.Proxies.Field,
            static (options, chosen) => options.WithProxies(proxies => proxies with { Field = chosen })),
        new OptionGroup("", OptionChange.AtRestart).Text("unix-mode", OptionValueKind.Text, "OCTAL",
            "File mode of unix sockets, which decides who may connect, such as 0660.",
            static (options, text) => options with { SocketMode = ParseMode(text) }) with { Default = "set by the umask" },
    ];

    private static IPNetwork ParseNetwork(string text)
    {
        int slash = text.IndexOf('/', StringComparison.Ordinal);
        if (ListenAddress.TryParseIp(slash < 0 ? text : text[..slash], out IPAddress? address))
        {
            if (slash < 0)
            {
                return new IPNetwork(address, address.AddressFamily == AddressFamily.InterNetwork ? 32 : 128);
            }

            if (IPNetwork.TryParse(text, out IPNetwork network))
            {
                return network.BaseAddress.Equals(address)
                    ? network
                    : throw ClientNetworks.HasBitsAfterPrefix(text, address, network.PrefixLength);
            }
        }

        throw new SiteException(
            $"'{text}' is not a network.",
            "Use a network such as 10.0.0.0/8 or 2001:db8::/32, a single address, or 'unix'.");
    }

    /// <summary>Three octal digits, or four that begin with a zero: neither setuid nor sticky bits.</summary>
    private static UnixFileMode ParseMode(string text) =>
        text is { Length: 3 } or ['0', _, _, _] && text.All(static digit => digit is >= '0' and < '8')
            ? (UnixFileMode)Convert.ToInt32(text, 8)
            : throw new SiteException($"'{text}' is not a file mode: use 0660, for example.");

    private static ServeOptions WithProxies(this ServeOptions options, Func<ProxyOptions, ProxyOptions> change) =>
        options with { Proxies = change(options.Proxies) };
}
