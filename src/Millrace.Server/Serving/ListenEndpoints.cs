using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.HttpServer;
using Millrace.Server.Configuration;
using Millrace.Server.Https;

namespace Millrace.Server.Serving;

/// <summary>All listening addresses of a server. They change in two steps, of which only the first can fail. Not thread-safe.</summary>
/// <param name="group">The reactors that listen.</param>
/// <param name="sites">The sites that they serve.</param>
/// <param name="addresses">Addresses that are bound already; also binds others.</param>
internal sealed class ListenEndpoints(ReactorGroup group, StaticSiteServer sites, BoundAddresses addresses)
{
    private List<ListenEndpoint> _open = [];

    /// <summary>The addresses for messages.</summary>
    public IReadOnlyList<ServedAddress> Served => [.. _open.Select(static endpoint => endpoint.Served)];

    /// <summary>The addresses in one line, for a service manager.</summary>
    public string Status => $"Serving on {string.Join(", ", Served)}";

    /// <summary>Opens configured addresses that are not open yet, HTTPS first, as a redirect needs its port.</summary>
    /// <exception cref="EngineException">An address cannot be bound; then nothing has changed.</exception>
    public async Task<IReadOnlyList<EndpointBinding>> OpenNextAsync(ServeOptions configured, HttpsEndpoint? https)
    {
        Destination[] wanted =
        [
            .. configured.Https.Addresses.Select(Destination.Secure),
            .. configured.Addresses.Select(Destination.Plain),
        ];
        ListenEndpoint?[] kept = FindOpen(wanted);
        var next = new List<EndpointBinding>();
        try
        {
            for (int i = 0; i < wanted.Length; i++)
            {
                var target = new EndpointTarget(
                    wanted[i].IsSecure ? https : null, RedirectPortOf(configured, next), CertificateHostCheck.Of(configured));
                next.Add(new EndpointBinding(kept[i] ?? await OpenAsync(wanted[i].Address, target, next), wanted[i].IsSecure));
            }

            return next;
        }
        catch
        {
            await CloseAsync(next.Select(static binding => binding.Endpoint).Except(_open));
            throw;
        }
    }

    /// <summary>
    /// Makes these the current addresses with the new targets, and closes all others. Completes when no new connection can get a previous
    /// target.
    /// </summary>
    public async Task ReplaceAsync(IReadOnlyList<EndpointBinding> next, ServeOptions configured, HttpsEndpoint? https)
    {
        int? redirectPort = RedirectPortOf(configured, next);
        var hostCheck = CertificateHostCheck.Of(configured);
        foreach (EndpointBinding binding in next)
        {
            binding.Endpoint.Change(new EndpointTarget(binding.IsSecure ? https : null, redirectPort, hostCheck));
        }

        List<ListenEndpoint> before = _open;
        _open = [.. next.Select(static binding => binding.Endpoint)];
        await CloseAsync(before.Except(_open));
    }

    private async Task<ListenEndpoint> OpenAsync(EndPoint address, EndpointTarget target, IEnumerable<EndpointBinding> others)
    {
        IEnumerable<ListenEndpoint> listening = _open.Concat(others.Select(static binding => binding.Endpoint));
        using BoundAddress bound = addresses.Take(address, listening.Select(static endpoint => endpoint.EndPoint));
        return await ListenEndpoint.OpenAsync(group, address, bound, sites, target);
    }

    private async Task CloseAsync(IEnumerable<ListenEndpoint> closing)
    {
        foreach (ListenEndpoint endpoint in closing)
        {
            await endpoint.CloseAsync();
        }

        // Waits for the reactors' current callbacks and for connections transferred between reactors.
        foreach (Reactor reactor in group.Reactors)
        {
            await reactor.PostsDoneAsync();
        }
    }

    private static int? RedirectPortOf(ServeOptions configured, IEnumerable<EndpointBinding> bindings) => configured.Https.Redirects
        ? bindings.Where(static binding => binding.IsSecure).Select(static binding => binding.Endpoint.EndPoint)
            .OfType<IPEndPoint>().FirstOrDefault()?.Port
        : null;

    /// <summary>
    /// Finds the open endpoint of each wanted address. If an address is wanted as both HTTP and HTTPS, an endpoint keeps its current kind
    /// first.
    /// </summary>
    private ListenEndpoint?[] FindOpen(Destination[] wanted)
    {
        var found = new ListenEndpoint?[wanted.Length];
        foreach (bool keepsScheme in (bool[])[true, false])
        {
            for (int i = 0; i < wanted.Length; i++)
            {
                (EndPoint address, bool isSecure) = wanted[i];
                found[i] ??= _open.Find(endpoint =>
                    endpoint.IsAt(address) && !found.Contains(endpoint) && (endpoint.IsSecure == isSecure || !keepsScheme));
            }
        }

        return found;
    }

    /// <summary>A configured address, and whether it uses TLS.</summary>
    private readonly record struct Destination(EndPoint Address, bool IsSecure)
    {
        public static Destination Secure(EndPoint address) => new(address, IsSecure: true);

        public static Destination Plain(EndPoint address) => new(address, IsSecure: false);
    }
}

/// <summary>An open address, and whether it uses TLS.</summary>
internal sealed record EndpointBinding(ListenEndpoint Endpoint, bool IsSecure);
