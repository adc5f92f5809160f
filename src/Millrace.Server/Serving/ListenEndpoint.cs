using System.Net;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.HttpServer;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>A listening address. It stays open while its target (TLS, redirect, sites) changes. Any thread.</summary>
internal sealed class ListenEndpoint
{
    private readonly EndPoint _configured;
    private readonly StaticSiteServer _sites;
    private volatile EndpointTarget _target;

    private ListenEndpoint(EndPoint configured, StaticSiteServer sites, EndpointTarget target)
    {
        _configured = configured;
        _sites = sites;
        _target = target;
    }

    /// <summary>Whether it currently uses TLS.</summary>
    public bool IsSecure => _target.Https is not null;

    /// <summary>The address as bound.</summary>
    public EndPoint EndPoint => Listener.EndPoint;

    /// <summary>Whether an address is this one: as configured (where port 0 matches any), or as bound.</summary>
    public bool IsAt(EndPoint address) => _configured.Equals(address) || EndPoint.Equals(address);

    /// <summary>The address for messages.</summary>
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

    /// <summary>Closes the listener; existing connections continue.</summary>
    public Task CloseAsync() => Listener.StopAsync();

    private IReadOnlyList<ConnectionFilter> FiltersOf(Connection connection) => _target.Https?.Terminator.FiltersOf(connection) ?? [];

    private Task ServeAsync(Connection connection) =>
        connection.IsTls() ? HttpsEndpoint.ServeAsync(connection, _sites, _target.HostCheck.AppliesTo(connection))
        : _target.RedirectPort is int port ? _sites.RedirectAsync(connection, port)
        : _sites.ServeAsync(connection);
}

/// <summary>What an address leads to. Immutable; each new connection uses the current one.</summary>
/// <param name="Https">TLS; null for plain HTTP.</param>
/// <param name="RedirectPort">The HTTPS port to which plain connections are redirected; null to serve them.</param>
/// <param name="HostCheck">Decides which requests over TLS get 421.</param>
internal sealed record EndpointTarget(HttpsEndpoint? Https, int? RedirectPort, CertificateHostCheck HostCheck);
