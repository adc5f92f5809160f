using System.Net;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.HttpServer;
using Millrace.Server.Configuration;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>All listening addresses of a server. They change in two steps, of which only the first can fail. Not thread-safe.</summary>
internal sealed class ListenEndpoints(ReactorGroup group, StaticSiteServer sites, BoundAddresses addresses)
{
    private List<ListenEndpoint> _open = [];

    public IReadOnlyList<ServedAddress> Served => [.. _open.Select(static endpoint => endpoint.Served)];

    /// <summary>The addresses in one line, for a service manager.</summary>
    public string Status => $"Serving on {string.Join(", ", Served)}";

    /// <summary>Opens configured addresses that are not open yet, HTTPS first, as a redirect needs its port.</summary>
    /// <exception cref="EngineException">An address cannot be bound; then nothing has changed.</exception>
    public async Task<IReadOnlyList<EndpointBinding>> OpenNextAsync(ServeOptions configured, HttpsEndpoint? https)
    {
        (EndPoint Address, bool IsSecure)[] wanted =
        [
            .. configured.Https.Addresses.Select(static address => (address, true)),
            .. configured.Addresses.Select(static address => (address, false)),
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
        await Task.WhenAll(closing.Select(static endpoint => endpoint.CloseAsync()));

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
    private ListenEndpoint?[] FindOpen((EndPoint Address, bool IsSecure)[] wanted)
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
}

/// <summary>An open address, and whether it uses TLS.</summary>
internal sealed record EndpointBinding(ListenEndpoint Endpoint, bool IsSecure);

/// <summary>A listening address. It stays open while its target (TLS, redirect, sites) changes. Any thread.</summary>
internal sealed class ListenEndpoint(EndPoint configured, StaticSiteServer sites, EndpointTarget first)
{
    /// <summary>Long enough for a handshake that repeats a lost segment once, after 1 s (RFC 6298, section 2.1).</summary>
    private static readonly TimeSpan HandshakeTime = TimeSpan.FromSeconds(2);

    private volatile EndpointTarget _target = first;

    public bool IsSecure => _target.Https is not null;

    public EndPoint EndPoint => Listener.EndPoint;

    /// <summary>Whether an address is this one: as configured (where port 0 matches any), or as bound.</summary>
    public bool IsAt(EndPoint address) => configured.Equals(address) || EndPoint.Equals(address);

    public ServedAddress Served => IsSecure
        ? new ServedAddress("https", EndPoint)
        : new ServedAddress("http", EndPoint, Redirects: _target.RedirectPort is not null);

    private Listener Listener { get; set; } = null!;

    /// <exception cref="EngineException">The address cannot be bound; the message says why.</exception>
    public static async Task<ListenEndpoint> OpenAsync(
        ReactorGroup group, EndPoint address, BoundAddress bound, StaticSiteServer sites, EndpointTarget target)
    {
        var endpoint = new ListenEndpoint(address, sites, target);
        endpoint.Listener = await group.ListenAsync(bound, endpoint.ServeAsync, endpoint.FiltersOf, sites.RefuseAsync);
        return endpoint;
    }

    /// <summary>Changes the target of new connections; existing ones keep theirs.</summary>
    public void Change(EndpointTarget target) => _target = target;

    /// <summary>Closes the listener; existing connections continue, and those that are being established.</summary>
    public Task CloseAsync() => Listener.StopAsync(HandshakeTime);

    private IReadOnlyList<ConnectionFilter> FiltersOf(Connection connection) => _target.Https?.Terminator.FiltersOf(connection) ?? [];

    private Task ServeAsync(Connection connection) =>
        connection.IsTls() ? HttpsEndpoint.ServeAsync(connection, sites, _target.HostCheck.AppliesTo(connection))
        : _target.RedirectPort is int port ? sites.RedirectAsync(connection, port)
        : sites.ServeAsync(connection);
}

/// <summary>What an address leads to. Immutable; each new connection uses the current one.</summary>
/// <param name="Https">TLS; null for plain HTTP.</param>
/// <param name="RedirectPort">The HTTPS port to which plain connections are redirected; null to serve them.</param>
/// <param name="HostCheck">Decides which requests over TLS get 421.</param>
internal sealed record EndpointTarget(HttpsEndpoint? Https, int? RedirectPort, CertificateHostCheck HostCheck);

/// <summary>An address that the server listens on.</summary>
internal sealed record ServedAddress(string Scheme, EndPoint EndPoint, bool Redirects = false)
{
    public override string ToString() => ListenAddress.ToUrl(EndPoint, Scheme) + (Redirects ? " (redirects to HTTPS)" : "");
}
