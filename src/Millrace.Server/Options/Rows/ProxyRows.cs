using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.Server.Options.Settings;
using Millrace.Server.Proxies;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>What stands in front of the server, and what of it is believed.</summary>
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
            Help = "Connections to this address of --listen or --https begin with a preface of the PROXY protocol (version 1 or 2), from a "
                + $"--{Trusted}; --{Protocol} alone is all addresses.",
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
            Help = "A network that proxies connect from, as 10.0.0.0/8, or who comes by a unix socket: they are believed whose requests "
                + "they pass on.",
            Apply = static (options, text) => options.WithProxies(proxies => text == Unix
                ? proxies with { TrustsUnix = true }
                : proxies with { Trusted = [.. proxies.Trusted, ParseNetwork(text)] }),
        },
        ChoiceRow.Of("client-field", "proxies.client-field", OptionChange.AtRestart,
            $"The field that a --{Trusted} adds the client's address to. It must be one that it never passes on as it came.",
            Fields, "no field that names clients",
            static options => options.Proxies.Field,
            static (options, chosen) => options.WithProxies(proxies => proxies with { Field = chosen })),
        new()
        {
            Key = "unix-mode",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "OCTAL",
            Help = "Who may connect to unix sockets, as chmod has it: 0660.",
            Default = "what the umask leaves",
            Apply = static (options, text) => options with { SocketMode = ParseMode(text) },
        },
    ];

    public static void Check(ServeOptions options, SettingSet settings, ICollection<Complaint> complaints)
    {
        if (settings.Find(OptionTable.Get(Protocol)) is not { } protocol)
        {
            return;
        }

        // Without any address there is the default one, which is TCP's.
        EndPoint[] all = [.. options.Addresses, .. options.Https.Addresses];
        foreach (EndPoint stray in options.Proxies.ExpectsAt.Where(address => !all.Any(address.Equals)))
        {
            complaints.Add(new Complaint(protocol.Origin, $"{protocol.Name}: {stray} is no address that is listened on."));
        }

        bool isPublic = all.Length == 0 || all.Any(address => address is not UnixDomainSocketEndPoint && options.Proxies.Expects(address));
        if (isPublic && options.Proxies.Trusted.Count == 0)
        {
            string name = protocol.Origin.NameOf(OptionTable.Get(Trusted));
            complaints.Add(new Complaint(protocol.Origin, $"{protocol.Name} needs to know who may send it: give {name}, as 10.0.0.0/8."));
        }
    }

    private static IPNetwork ParseNetwork(string text)
    {
        if (text.Contains('/', StringComparison.Ordinal))
        {
            return IPNetwork.TryParse(text, out IPNetwork network)
                ? network
                : throw new SiteException($"'{text}' is no network: write its first address and its bits, as 10.0.0.0/8, or 'unix'.");
        }

        return IPAddress.TryParse(text, out IPAddress? address)
            ? new IPNetwork(address, address.AddressFamily == AddressFamily.InterNetwork ? 32 : 128)
            : throw new SiteException($"'{text}' is no network: write 10.0.0.0/8, 2001:db8::/32, a single address or 'unix'.");
    }

    private static UnixFileMode ParseMode(string text)
    {
        const int Octal = 8;
        bool isOctal = text.Length is >= 3 and <= 4 && text.All(static digit => digit is >= '0' and < '8');
        int mode = isOctal ? Convert.ToInt32(text, Octal) : -1;
        return mode is >= 0 and <= ModeMost
            ? (UnixFileMode)mode
            : throw new SiteException(string.Create(CultureInfo.InvariantCulture, $"'{text}' is no mode of a file: write 0660, say."));
    }

    private static ServeOptions WithProxies(this ServeOptions options, Func<ProxyOptions, ProxyOptions> change) =>
        options with { Proxies = change(options.Proxies) };
}
