using System.Net;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.HttpServer;
using Millrace.HttpServer.Heads;
using Millrace.Server.Configuration;
using Millrace.Server.Http3;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>All listening addresses of a server. They change in two steps, of which only the first can fail. Not thread-safe.</summary>
internal sealed class ListenEndpoints(ReactorGroup group, StaticSiteServer sites, BoundAddresses addresses, Http3Listeners http3)
{
    /// <summary>How long a reload waits for sockets that are about to be closed: that takes a part of a second.</summary>
    private static readonly TimeSpan ClosingTime = TimeSpan.FromSeconds(3);

    private readonly List<Http3Listener> _ending = [];
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
                if (wanted[i].IsSecure && configured.HasHttp3(wanted[i].Address))
                {
                    next[i] = next[i] with { Quic = next[i].Endpoint.Quic ?? await OpenQuicAsync(next[i].Endpoint, next) };
                }
            }

            return next;
        }
        catch
        {
            foreach (EndpointBinding binding in next.Where(static binding => binding.Quic != binding.Endpoint.Quic))
            {
                End(binding.Quic, configured.Drain);
            }

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
            EndQuic(binding.Endpoint, binding.Quic, configured.Drain);
            binding.Endpoint.Change(new EndpointTarget(binding.IsSecure ? https : null, redirectPort, hostCheck)
            {
                Alternative = binding.Endpoint.AlternativeOf(configured.Https.Http3Port),
            });
        }

        List<ListenEndpoint> before = _open;
        _open = [.. next.Select(static binding => binding.Endpoint)];
        foreach (ListenEndpoint closing in before.Except(_open))
        {
            EndQuic(closing, next: null, configured.Drain);
        }

        await CloseAsync(before.Except(_open));
    }

    /// <summary>Ends HTTP/3 at the end of the server. Completes when its connections have ended.</summary>
    public Task StopQuicAsync(TimeSpan drain)
    {
        foreach (ListenEndpoint endpoint in _open)
        {
            EndQuic(endpoint, next: null, drain);
        }

        return Task.WhenAll(_ending.Select(static one => one.Stopped));
    }

    /// <summary>Replaces an endpoint's listener of HTTP/3, whose connections end meanwhile.</summary>
    private void EndQuic(ListenEndpoint endpoint, Http3Listener? next, TimeSpan drain)
    {
        Http3Listener? before = endpoint.Quic;
        endpoint.Quic = next;
        if (before != next)
        {
            End(before, drain);
        }
    }

    private void End(Http3Listener? listener, TimeSpan drain)
    {
        ForgetStopped();
        if (listener is not null)
        {
            listener.BeginStop(drain);
            _ending.Add(listener);
        }
    }

    private void ForgetStopped() => _ending.RemoveAll(static one => one.Stopped.IsCompletedSuccessfully);

    /// <summary>A listener whose connections still end since an earlier reload is used again: its port is not free yet.</summary>
    private async Task<Http3Listener> OpenQuicAsync(ListenEndpoint endpoint, IEnumerable<EndpointBinding> others)
    {
        var local = (IPEndPoint)endpoint.EndPoint;
        foreach (Http3Listener ending in _ending.FindAll(one => one.LocalEndPoint.Equals(local)))
        {
            if (ending.TryResume(endpoint))
            {
                _ending.Remove(ending);
                return ending;
            }

            // It is about to close its sockets. A connection of it that reads from a file system that hangs may keep the rest for ever.
            await ending.Stopped.WaitAsync(ClosingTime).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        // For one that has stopped, a port would be shared that another program may have now, without an error.
        ForgetStopped();
        using DatagramSockets sockets = addresses.TakeDatagrams(
            local,
            _open.Select(static one => one.Quic).Concat(others.Select(static binding => binding.Quic)).Concat(_ending)
                .OfType<Http3Listener>().Select(static quic => quic.LocalEndPoint));
        return await http3.ListenAsync(sockets, sites, endpoint);
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

/// <summary>An open address, whether it uses TLS, and its listener of HTTP/3.</summary>
internal sealed record EndpointBinding(ListenEndpoint Endpoint, bool IsSecure)
{
    public Http3Listener? Quic { get; init; }
}

/// <summary>A listening address. It stays open while its target (TLS, redirect, sites) changes. Any thread.</summary>
internal sealed class ListenEndpoint(EndPoint configured, StaticSiteServer sites, EndpointTarget first)
{
    /// <summary>Long enough for a handshake that repeats a lost segment once, after 1 s (RFC 6298, section 2.1).</summary>
    private static readonly TimeSpan HandshakeTime = TimeSpan.FromSeconds(2);

    private volatile EndpointTarget _target = first;
    private bool _hasOffered;

    public bool IsSecure => _target.Https is not null;

    /// <summary>What the address leads to now.</summary>
    public EndpointTarget Target => _target;

    /// <summary>The listener of HTTP/3; null for none. Set by the owner of the endpoints only.</summary>
    public Http3Listener? Quic { get; set; }

    public EndPoint EndPoint => Listener.EndPoint;

    /// <summary>Whether an address is this one: as configured (where port 0 matches any), or as bound.</summary>
    public bool IsAt(EndPoint address) => configured.Equals(address) || EndPoint.Equals(address);

    public ServedAddress Served => IsSecure
        ? new ServedAddress("https", EndPoint) { HasHttp3 = Quic is not null }
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

    /// <summary>
    /// What responses say about HTTP/3: where it is, or that it is no more, if they have said otherwise before; null for nothing.
    /// </summary>
    /// <param name="port">The port that Alt-Svc announces; null for the one that is listened on.</param>
    public AlternativeService? AlternativeOf(int? port)
    {
        _hasOffered |= Quic is not null;
        return Quic is not null ? AlternativeService.Http3At(port ?? Quic.LocalEndPoint.Port)
            : _hasOffered ? AlternativeService.Cleared
            : null;
    }

    /// <summary>Changes the target of new connections; existing ones keep theirs.</summary>
    public void Change(EndpointTarget target) => _target = target;

    /// <summary>Closes the listener; existing connections continue, and those that are being established.</summary>
    public Task CloseAsync() => Listener.StopAsync(HandshakeTime);

    private IReadOnlyList<ConnectionFilter> FiltersOf(Connection connection) => _target.Https?.Terminator.FiltersOf(connection) ?? [];

    private Task ServeAsync(Connection connection) =>
        connection.IsTls() ? HttpsEndpoint.ServeAsync(connection, sites, _target)
        : _target.RedirectPort is int port ? sites.RedirectAsync(connection, port)
        : sites.ServeAsync(connection);
}

/// <summary>What an address leads to. Immutable; each new connection uses the current one.</summary>
/// <param name="Https">TLS; null for plain HTTP.</param>
/// <param name="RedirectPort">The HTTPS port to which plain connections are redirected; null to serve them.</param>
/// <param name="HostCheck">Decides which requests over TLS get 421.</param>
internal sealed record EndpointTarget(HttpsEndpoint? Https, int? RedirectPort, CertificateHostCheck HostCheck)
{
    /// <summary>What responses over TLS say about HTTP/3; null for nothing.</summary>
    public AlternativeService? Alternative { get; init; }
}

/// <summary>An address that the server listens on.</summary>
internal sealed record ServedAddress(string Scheme, EndPoint EndPoint, bool Redirects = false)
{
    public bool HasHttp3 { get; init; }

    public override string ToString() =>
        ListenAddress.ToUrl(EndPoint, Scheme) + (Redirects ? " (redirects to HTTPS)" : "") + (HasHttp3 ? " with HTTP/3" : "");
}
