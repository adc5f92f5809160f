using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Engine.Stages;
using Millrace.Server.Https;
using Millrace.Tls;
using Millrace.Web;

namespace Millrace.Server.Serving;

/// <summary>An address that connections come in by. It stays open while what stands behind it changes. Any thread.</summary>
internal sealed class Entrance
{
    private readonly EndPoint _told;
    private readonly StaticSites _sites;
    private volatile Doorway _doorway;

    private Entrance(EndPoint told, StaticSites sites, Doorway doorway)
    {
        _told = told;
        _sites = sites;
        _doorway = doorway;
    }

    /// <summary>Whether it speaks TLS now.</summary>
    public bool IsSecure => _doorway.Https is not null;

    /// <summary>The address as bound.</summary>
    public EndPoint EndPoint => Listener.EndPoint;

    /// <summary>Whether an address is this one: as it was told, where port 0 is any, or as it is bound.</summary>
    public bool IsAt(EndPoint address) => _told.Equals(address) || EndPoint.Equals(address);

    /// <summary>What people are told.</summary>
    public ServedAddress Served => IsSecure
        ? new ServedAddress("https", EndPoint)
        : new ServedAddress("http", EndPoint, Redirects: _doorway.RedirectPort is not null);

    private Listener Listener { get; set; } = null!;

    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    public static async Task<Entrance> OpenAsync(
        ReactorGroup group, EndPoint address, BoundAddress bound, StaticSites sites, Doorway doorway)
    {
        var entrance = new Entrance(address, sites, doorway);
        entrance.Listener = await group.ListenAsync(bound, entrance.ServeAsync, entrance.StagesOf, sites.RefuseAsync);
        return entrance;
    }

    /// <summary>Connections that come from now on meet something else; those that are there stay TLS's or plain ones.</summary>
    public void Change(Doorway doorway) => _doorway = doorway;

    /// <summary>Lets nobody in any more; who is in is served on.</summary>
    public Task CloseAsync() => Listener.StopAsync();

    private IReadOnlyList<ConnectionStage> StagesOf(Connection connection) => _doorway.Https?.Terminator.StagesOf(connection) ?? [];

    private Task ServeAsync(Connection connection) =>
        connection.IsTls() ? HttpsFront.ServeAsync(connection, _sites)
        : _doorway.RedirectPort is int port ? _sites.RedirectAsync(connection, port)
        : _sites.ServeAsync(connection);
}
