using System.Net;
using System.Net.Sockets;
using Millrace.Acme;
using Millrace.Acme.Storage;
using Millrace.Interop.Files;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Doctor;

/// <summary>A name that certificates are to be obtained for, as this host sees it. What an authority sees may differ.</summary>
/// <param name="Name">The host, without <c>*.</c>.</param>
/// <param name="Addresses">What it resolves to; empty if it does not.</param>
/// <param name="Ports">The ports that an authority may connect to, and whether a connection succeeds from here.</param>
internal sealed record AcmeNameFacts(string Name, IReadOnlyList<IPAddress> Addresses, IReadOnlyList<(int Port, bool Answers)> Ports);

/// <summary>Looks at what obtaining certificates needs: the folder, the names, and the ports. Any thread.</summary>
internal static class AcmeProbe
{
    private const int PlainPort = 80;
    private const int SecurePort = 443;

    /// <summary>A resolver or a peer that takes longer will not do for an authority either.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(3);

    /// <summary>
    /// Why the folder for certificates cannot be used; null if it can. One that exists is tried as the user who serves; another is created
    /// at the start, by the user who starts the server, and given away.
    /// </summary>
    public static string? FolderProblem(ServeOptions options)
    {
        try
        {
            string folder = options.Acme.ResolveDirectory(options.Service.User);
            AcmeService.RequireUnserved(options, folder);
            AcmeStore.RequireUnwritable(folder);
            bool asUser = Directory.Exists(folder) && options.Service.User is { } text && AccessProbe.MayCheckAs(ServiceUser.Find(text));
            int result = asUser ? AccessProbe.Check(ServiceUser.Find(options.Service.User!), () => ParentDirectory.MayMakeIn(folder))
                : ParentDirectory.MayMakeIn(folder);
            return result == 0 ? null
                : AcmeService.DescribeRefusal(folder, "written", FileProblem.Of(folder, result), result);
        }
        catch (Exception refusal) when (refusal is TlsException or AcmeConfigurationException)
        {
            return refusal.Message;
        }
        catch (ServiceException)
        {
            // The check of the user says why.
            return null;
        }
    }

    /// <summary>Resolves a name; empty if that fails.</summary>
    public static async Task<IReadOnlyList<IPAddress>> ResolveAsync(string name)
    {
        if (IPAddress.TryParse(name, out IPAddress? address))
        {
            return [address];
        }

        try
        {
            using var patience = new CancellationTokenSource(Patience);
            return await Dns.GetHostAddressesAsync(name, patience.Token);
        }
        catch (Exception refusal) when (refusal is SocketException or OperationCanceledException or ArgumentException)
        {
            return [];
        }
    }

    /// <summary>Resolves each name and connects to it. Listens on the configured addresses meanwhile, if no server does.</summary>
    public static async Task<IReadOnlyList<AcmeNameFacts>> ReadAsync(ServeOptions options)
    {
        if (!options.Acme.IsOn)
        {
            return [];
        }

        List<Socket> standIns = ListenInstead(options.Addresses.Concat(options.Https.Addresses).OfType<IPEndPoint>());
        try
        {
            AcmeChallengeTypes answered = AcmeService.AnsweredBy(options);
            int[] ports = options.Acme.DnsHook is not null ? [] :
            [
                .. answered.HasFlag(AcmeChallengeTypes.Http01) ? (int[])[PlainPort] : [],
                .. answered.HasFlag(AcmeChallengeTypes.TlsAlpn01) ? (int[])[SecurePort] : [],
            ];
            IEnumerable<string> names = options.Acme.NamesFor(options.Hosts).SelectMany(static all => all)
                .Select(static name => name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name).Distinct();
            return await Task.WhenAll(names.Select(name => ReadAsync(name, ports)));
        }
        finally
        {
            standIns.ForEach(static socket => socket.Dispose());
        }
    }

    private static async Task<AcmeNameFacts> ReadAsync(string name, IEnumerable<int> ports)
    {
        IReadOnlyList<IPAddress> addresses = await ResolveAsync(name);
        IEnumerable<Task<(int, bool)>> answers = ports.Select(async port => (port, await AnswersAsync(addresses, port)));
        return new AcmeNameFacts(name, addresses, await Task.WhenAll(answers));
    }

    private static async Task<bool> AnswersAsync(IReadOnlyList<IPAddress> addresses, int port)
    {
        using var patience = new CancellationTokenSource(Patience);
        foreach (IPAddress address in addresses)
        {
            try
            {
                using var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(address, port, patience.Token);
                return true;
            }
            catch (Exception refusal) when (refusal is SocketException or OperationCanceledException)
            {
                // The next address may answer.
            }
        }

        return false;
    }

    /// <summary>Sockets that accept in place of the server, where none listens.</summary>
    private static List<Socket> ListenInstead(IEnumerable<IPEndPoint> addresses)
    {
        var listening = new List<Socket>();
        foreach (IPEndPoint address in addresses)
        {
            var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                if (address.Address.Equals(IPAddress.IPv6Any))
                {
                    socket.DualMode = true;
                }

                socket.Bind(address);
                socket.Listen();
                listening.Add(socket);
            }
            catch (SocketException)
            {
                // A server listens there, or this user may not.
                socket.Dispose();
            }
        }

        return listening;
    }
}
