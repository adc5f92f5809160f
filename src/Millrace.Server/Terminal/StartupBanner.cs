using System.Globalization;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Configuration;
using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.StaticFiles;

namespace Millrace.Server.Terminal;

/// <summary>The output on stdout when the server is ready: stable lines for programs, aligned ones for terminals.</summary>
internal sealed record StartupBanner(
    IReadOnlyList<OpenSite> Sites,
    ReactorGroup Group,
    IReadOnlyList<ServedAddress> Addresses,
    LocalCertificate? Local,
    EndPoint? Admin)
{
    private const string Bold = "\x1b[1m";
    private const string Plain = "\x1b[0m";

    public static void Print(StartupBanner banner)
    {
        bool isForPeople = TerminalFacts.IsInteractive(Console.IsOutputRedirected);
        IEnumerable<string> lines = isForPeople
            ? Aligned(banner.ForPeople(LanAddress()), TerminalFacts.WantsColours)
            : banner.ForPrograms();
        Console.WriteLine(string.Join('\n', lines));
    }

    /// <summary>One fact per line. Scripts wait for the last one.</summary>
    public IEnumerable<string> ForPrograms()
    {
        foreach (ServedAddress address in Addresses)
        {
            yield return $"Listening on {address}";
        }

        if (Local is not null)
        {
            yield return Local.Announcement;
        }

        if (Admin is not null)
        {
            yield return $"Admin pages on {ListenAddress.ToUrl(Admin)}";
        }

        foreach ((HostedSite configured, Site site) in Sites)
        {
            yield return string.Create(
                CultureInfo.CurrentCulture,
                $"Serving {Server.DisplayPath(configured.Site.Root)} ({site.Catalog.Current.AssetCount:N0} assets)"
                    + $"{ForHost(configured)} on {Mode}");
        }
    }

    /// <summary>The subject and text of each line.</summary>
    /// <param name="lan">This machine's address in its network, if it has one.</param>
    public IEnumerable<(string Subject, string Text)> ForPeople(IPAddress? lan)
    {
        foreach ((HostedSite configured, Site site) in Sites)
        {
            yield return ("Serving", string.Create(
                CultureInfo.InvariantCulture,
                $"{Server.DisplayPath(configured.Site.Root)}{ForHost(configured)}, {site.Catalog.Current.AssetCount:N0} files"));
        }

        foreach (ServedAddress address in Addresses)
        {
            string redirects = address.Redirects ? " (redirects to HTTPS)" : "";
            bool isAny = SocketEndPoint.IsAny(address.EndPoint);
            yield return (isAny || address.EndPoint is UnixDomainSocketEndPoint ? "Here" : "Address", UrlOf(address) + redirects);
            if (isAny && lan is not null)
            {
                yield return ("Network", $"{address.Scheme}://{lan}:{((IPEndPoint)address.EndPoint).Port}/{redirects}");
            }
        }

        if (Local is not null)
        {
            yield return ("Secured", $"by a self-signed certificate, which browsers warn about: {Local.Files.Certificate}");
        }

        if (Admin is not null)
        {
            yield return ("Admin", ListenAddress.ToUrl(Admin));
        }

        yield return ("Mode", Mode);
        yield return ("Hint", Addresses.Any(static address => SocketEndPoint.IsAny(address.EndPoint) || address.EndPoint is not IPEndPoint)
            ? "Ctrl+C stops."
            : "Ctrl+C stops. Only this machine can connect; '--listen 8080' allows other machines.");
    }

    public static IEnumerable<string> Aligned(IEnumerable<(string Subject, string Text)> facts, bool inColour)
    {
        (string Subject, string Text)[] all = [.. facts];
        int width = all.Max(static fact => fact.Subject.Length);
        return all.Select(fact => inColour
            ? $"{Bold}{fact.Subject.PadRight(width)}{Plain}  {fact.Text}"
            : $"{fact.Subject.PadRight(width)}  {fact.Text}");
    }

    private string Mode => $"{Group.BackendName} with {Group.Reactors.Count} reactor{(Group.Reactors.Count == 1 ? "" : "s")}";

    private static string ForHost(HostedSite configured) => configured.Name.Length == 0 ? "" : $" for {configured.Name}";

    private static string UrlOf(ServedAddress address) => SocketEndPoint.IsAny(address.EndPoint)
        ? $"{address.Scheme}://localhost:{((IPEndPoint)address.EndPoint).Port}/"
        : ListenAddress.ToUrl(address.EndPoint, address.Scheme);

    /// <summary>
    /// The address of the interface with a gateway, by which other machines in the network reach this one; null if there is none.
    /// </summary>
    private static IPAddress? LanAddress() => NetworkInterface.GetAllNetworkInterfaces()
        .Where(static one => one.OperationalStatus == OperationalStatus.Up && one.NetworkInterfaceType != NetworkInterfaceType.Loopback)
        .Select(static one => one.GetIPProperties())
        .OrderByDescending(static properties => properties.GatewayAddresses.Count)
        .SelectMany(static properties => properties.UnicastAddresses)
        .Select(static address => address.Address)
        .FirstOrDefault(static address => address.AddressFamily == AddressFamily.InterNetwork);
}
