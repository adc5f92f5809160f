using System.Globalization;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using Millrace.Acme;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Configuration;
using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.StaticFiles;

namespace Millrace.Server.Terminal;

/// <summary>
/// The output on stdout when the server is ready: one fact per line, the same for people and programs. Scripts wait for the last one, which
/// begins with "Serving". A terminal gets a hint after it.
/// </summary>
internal sealed record StartupBanner(
    IReadOnlyList<OpenSite> Sites, ReactorGroup Group, IReadOnlyList<ServedAddress> Addresses, HttpsEndpoints Https, EndPoint? Admin)
{
    public static void Print(StartupBanner banner)
    {
        IEnumerable<string> lines = banner.Facts(DateTimeOffset.UtcNow);
        if (TerminalFacts.IsInteractive(Console.IsOutputRedirected))
        {
            lines = lines.Append(banner.Hint(LanAddress()));
        }

        Console.WriteLine(string.Join('\n', lines));
    }

    public IEnumerable<string> Facts(DateTimeOffset now)
    {
        foreach (ServedAddress address in Addresses)
        {
            yield return $"Listening on {address}";
        }

        foreach (ServedCertificate certificate in Https.Certificates)
        {
            yield return $"Certificate for {certificate.Hosts} {certificate.Validity(now)}{(certificate.IsLocal ? ", self-signed" : "")}";
        }

        foreach (AcmeCertificate missing in Https.Obtained.Where(static one => one.File is null))
        {
            yield return $"Certificate for {string.Join(", ", missing.Names)} is being obtained";
        }

        if (Https.Current?.Local is { } local && Https.Obtained.Count == 0)
        {
            yield return $"Certificate file (browsers warn until you trust it): {local.Files.Certificate}";
            yield return $"Certificate fingerprint (SHA-256): {local.Fingerprint}";
        }

        if (Admin is not null)
        {
            yield return $"Admin pages on {ListenAddress.ToUrl(Admin)}";
        }

        foreach ((HostedSite configured, Site site) in Sites)
        {
            string host = configured.Name.Length == 0 ? "" : $" for {configured.Name}";
            yield return $"Serving {Server.DisplayPath(configured.Site.Root)} ({Counted.Of(site.Catalog.Current.AssetCount, "file")})"
                + $"{host} on {Group.BackendName} with {Counted.Of(Group.Reactors.Count, "reactor")}";
        }
    }

    /// <param name="lan">This machine's address in its network, if it has one.</param>
    public string Hint(IPAddress? lan)
    {
        ServedAddress? open = Addresses.FirstOrDefault(static address => SocketEndPoint.IsAny(address.EndPoint));
        return open is not null && lan is not null
            ? string.Create(
                CultureInfo.InvariantCulture,
                $"Other machines reach it at {open.Scheme}://{lan}:{((IPEndPoint)open.EndPoint).Port}/. Ctrl+C stops.")
            : Addresses is [{ EndPoint: IPEndPoint only }, ..] && IPAddress.IsLoopback(only.Address)
            ? OptionNames.OfProcess.In(string.Create(
                CultureInfo.InvariantCulture, $"Only this machine can connect; --listen {only.Port} allows others. Ctrl+C stops."))
            : "Ctrl+C stops.";
    }

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
