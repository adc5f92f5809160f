using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.Server.Configuration.Settings;
using Millrace.Server.Proxies;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Options for proxies in front of the server, and which of them are trusted.</summary>
internal static class ProxyRows
{
    private const string Protocol = "proxy-protocol";
    private const string Trusted = "trusted-proxy";
    private const string Everywhere = "all";
    private const string Unix = "unix";
    private const int ModeMost = 0b111_111_111;

    private static readonly OrderedDictionary<string, ClientField> Fields = new()
    {
        ["x-forwarded-for"] = ClientField.XForwardedFor,
        ["forwarded"] = ClientField.Forwarded,
        ["none"] = ClientField.None,
    };

    public static IEnumerable<ServerOption> All =>
    [
        new()
        {
            Key = Protocol,
            Path = "proxies.protocol",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Address,
            ValueForm = "ADDR",
            Occurrence = OptionOccurrence.Repeatable,
            BareValue = Everywhere,
            BareNote = BareNote.InHelp,
            Help = "Expect the PROXY protocol (version 1 or 2) on this address of --listen or --https, from a "
                + $"--{Trusted}; --{Protocol} alone means all addresses.",
            Apply = static (options, text) => options.WithProxies(proxies => text == Everywhere
                ? proxies with { ExpectsEverywhere = true }
                : proxies with { ExpectsAt = [.. proxies.ExpectsAt, ListenAddress.Parse(text)] }),
        },
        new()
        {
            Key = Trusted,
            Path = "proxies.trusted",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "CIDR|unix",
            Occurrence = OptionOccurrence.Repeatable,
            Help = "Network of trusted proxies, such as 10.0.0.0/8, or 'unix' for unix sockets. The client addresses that they "
                + "report are used.",
            Apply = static (options, text) => options.WithProxies(proxies => text == Unix
                ? proxies with { TrustsUnix = true }
                : proxies with { Trusted = [.. proxies.Trusted, ParseNetwork(text)] }),
        },
        ChoiceRow.Of("client-field", "proxies.client-field", OptionChange.AtRestart,
            $"Header field to which a --{Trusted} adds the client's address. The proxy must not pass it on unchanged.",
            Fields, "a client field",
            static options => options.Proxies.Field,
            static (options, chosen) => options.WithProxies(proxies => proxies with { Field = chosen })),
        new()
        {
            Key = "unix-mode",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "OCTAL",
            Help = "File mode of unix sockets, which decides who may connect, such as 0660.",
            Default = "set by the umask",
            Apply = static (options, text) => options with { SocketMode = ParseMode(text) },
        },
    ];

    public static void Check(ServeOptions options, SettingSet settings, ICollection<OptionError> errors)
    {
        if (settings.Find(OptionTable.Get(Protocol)) is not { } protocol)
        {
            return;
        }

        // Without any address the default one applies, which is TCP.
        EndPoint[] all = [.. options.Addresses, .. options.Https.Addresses];
        foreach (EndPoint unknown in options.Proxies.ExpectsAt.Where(address => !all.Any(address.Equals)))
        {
            errors.Add(new OptionError(protocol.Origin, $"{protocol.Name}: {unknown} is not an address of --listen or --https."));
        }

        bool isPublic = all.Length == 0 || all.Any(address => address is not UnixDomainSocketEndPoint && options.Proxies.Expects(address));
        if (isPublic && options.Proxies.Trusted.Count == 0)
        {
            string name = protocol.Origin.NameOf(OptionTable.Get(Trusted));
            errors.Add(new OptionError(
                protocol.Origin, $"{protocol.Name} needs to know who may send it: add {name}, for example 10.0.0.0/8."));
        }
    }

    private static IPNetwork ParseNetwork(string text)
    {
        if (text.Contains('/', StringComparison.Ordinal))
        {
            return IPNetwork.TryParse(text, out IPNetwork network)
                ? network
                : throw new SiteException(
                    $"'{text}' is not a network: use its first address and prefix length, as in 10.0.0.0/8, or 'unix'.");
        }

        return IPAddress.TryParse(text, out IPAddress? address)
            ? new IPNetwork(address, address.AddressFamily == AddressFamily.InterNetwork ? 32 : 128)
            : throw new SiteException($"'{text}' is not a network: use the form 10.0.0.0/8 or 2001:db8::/32, a single address, or 'unix'.");
    }

    private static UnixFileMode ParseMode(string text)
    {
        const int Octal = 8;
        bool isOctal = text.Length is >= 3 and <= 4 && text.All(static digit => digit is >= '0' and < '8');
        int mode = isOctal ? Convert.ToInt32(text, Octal) : -1;
        return mode is >= 0 and <= ModeMost
            ? (UnixFileMode)mode
            : throw new SiteException(string.Create(CultureInfo.InvariantCulture, $"'{text}' is not a file mode: use 0660, for example."));
    }

    private static ServeOptions WithProxies(this ServeOptions options, Func<ProxyOptions, ProxyOptions> change) =>
        options with { Proxies = change(options.Proxies) };
}
