using System.Globalization;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.StaticFiles;

namespace Millrace.Server.Terminal;

/// <summary>What is said on stdout when the server serves: to programs in lines that stay as they are, to people in aligned ones.</summary>
internal sealed record Announcement(
    IReadOnlyList<OpenSite> Sites,
    ReactorGroup Group,
    IReadOnlyList<ServedAddress> Addresses,
    LocalCertificate? Local,
    EndPoint? Admin)
{
    private const string Bold = "\x1b[1m";
    private const string Plain = "\x1b[0m";

    public static void Print(Announcement announcement)
    {
        bool isForPeople = TerminalFacts.IsInteractive(Console.IsOutputRedirected);
        IEnumerable<string> lines = isForPeople
            ? Aligned(announcement.ForPeople(LanAddress()), TerminalFacts.WantsColours)
            : announcement.ForPrograms();
        Console.WriteLine(string.Join('\n', lines));
    }

    /// <summary>One fact a line. Scripts wait for the last one.</summary>
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

        foreach ((HostedSite told, Site site) in Sites)
        {
            yield return string.Create(
                CultureInfo.CurrentCulture,
                $"Serving {Server.Shown(told.Site.Root)} ({site.Catalog.Current.AssetCount:N0} assets){ForHost(told)} on {Mode}");
        }
    }

    /// <summary>What each line is about, and what it says.</summary>
    /// <param name="lan">This machine's address in its network, if it has one.</param>
    public IEnumerable<(string Subject, string Text)> ForPeople(IPAddress? lan)
    {
        foreach ((HostedSite told, Site site) in Sites)
        {
            yield return ("Serving", string.Create(
                CultureInfo.InvariantCulture,
                $"{Server.Shown(told.Site.Root)}{ForHost(told)}, {site.Catalog.Current.AssetCount:N0} files"));
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
            yield return ("Secured", $"by a local certificate, which browsers ask about: {Local.Files.Certificate}");
        }

        if (Admin is not null)
        {
            yield return ("Admin", ListenAddress.ToUrl(Admin));
        }

        yield return ("Mode", Mode);
        yield return ("Hint", Addresses.Any(static address => SocketEndPoint.IsAny(address.EndPoint) || address.EndPoint is not IPEndPoint)
            ? "Ctrl+C stops."
            : "Ctrl+C stops. Only this machine is let in; '--listen 8080' lets others in too.");
    }

    /// <summary>Subjects in a column of their own.</summary>
    public static IEnumerable<string> Aligned(IEnumerable<(string Subject, string Text)> facts, bool inColour)
    {
        (string Subject, string Text)[] all = [.. facts];
        int width = all.Max(static fact => fact.Subject.Length);
        return all.Select(fact => inColour
            ? $"{Bold}{fact.Subject.PadRight(width)}{Plain}  {fact.Text}"
            : $"{fact.Subject.PadRight(width)}  {fact.Text}");
    }

    private string Mode => $"{Group.BackendName} with {Group.Reactors.Count} reactor{(Group.Reactors.Count == 1 ? "" : "s")}";

    private static string ForHost(HostedSite told) => told.Name.Length == 0 ? "" : $" for {told.Name}";

    private static string UrlOf(ServedAddress address) => SocketEndPoint.IsAny(address.EndPoint)
        ? $"{address.Scheme}://localhost:{((IPEndPoint)address.EndPoint).Port}/"
        : ListenAddress.ToUrl(address.EndPoint, address.Scheme);

    /// <summary>Of the interface that leads out, as others in the network call this machine; null where there is none.</summary>
    private static IPAddress? LanAddress() => NetworkInterface.GetAllNetworkInterfaces()
        .Where(static one => one.OperationalStatus == OperationalStatus.Up && one.NetworkInterfaceType != NetworkInterfaceType.Loopback)
        .Select(static one => one.GetIPProperties())
        .OrderByDescending(static properties => properties.GatewayAddresses.Count)
        .SelectMany(static properties => properties.UnicastAddresses)
        .Select(static address => address.Address)
        .FirstOrDefault(static address => address.AddressFamily == AddressFamily.InterNetwork);
}
