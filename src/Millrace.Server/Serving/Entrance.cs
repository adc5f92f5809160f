using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Https;
using Millrace.Tls;
using Millrace.Web;

namespace Millrace.Server.Serving;

/// <summary>An address that connections come in by. It stays open while what stands behind it changes. Any thread.</summary>
internal sealed class Entrance
{
    private readonly StaticSites _sites;
    private volatile Doorway _doorway;

    private Entrance(EndPoint told, StaticSites sites, Doorway doorway)
    {
        Told = told;
        IsSecure = doorway.Https is not null;
        _sites = sites;
        _doorway = doorway;
    }

    /// <summary>The address as it was told: port 0 is any.</summary>
    public EndPoint Told { get; }

    /// <summary>Whether it speaks TLS, which it does for as long as it is open.</summary>
    public bool IsSecure { get; }

    /// <summary>The address as bound.</summary>
    public EndPoint EndPoint => Listener.EndPoint;

    /// <summary>What people are told.</summary>
    public ServedAddress Served => new(IsSecure ? "https" : "http", EndPoint, Redirects: _doorway.RedirectPort is not null);

    private Listener Listener { get; set; } = null!;

    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public static async Task<Entrance> OpenAsync(
        ReactorGroup group, EndPoint address, BoundAddress bound, StaticSites sites, Doorway doorway)
    {
        var entrance = new Entrance(address, sites, doorway);
        entrance.Listener = entrance.IsSecure
            ? await group.ListenTlsAsync(
                bound,
                () => entrance._doorway.Https!.Terminator,
                connection => HttpsFront.ServeAsync(connection, sites),
                sites.RefuseAsync)
            : await group.ListenAsync(bound, entrance.ServeAsync, stages: null, sites.RefuseAsync);
        return entrance;
    }

    /// <summary>Connections that come from now on meet something else.</summary>
    public void Change(Doorway doorway) => _doorway = doorway;

    /// <summary>Lets nobody in any more; who is in is served on.</summary>
    public Task CloseAsync() => Listener.StopAsync();

    private Task ServeAsync(Connection connection) =>
        _doorway.RedirectPort is int port ? _sites.RedirectAsync(connection, port) : _sites.ServeAsync(connection);
}
