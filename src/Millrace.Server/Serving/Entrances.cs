using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Https;
using Millrace.Server.Options;
using Millrace.Web;

namespace Millrace.Server.Serving;

/// <summary>All addresses of a server. They are changed in two steps, of which only the first can fail. One thread at a time.</summary>
/// <param name="group">Whose listeners they are.</param>
/// <param name="sites">What is behind them.</param>
/// <param name="addresses">Those that are bound already, and who binds others.</param>
internal sealed class Entrances(ReactorGroup group, StaticSites sites, BoundAddresses addresses)
{
    private List<Entrance> _open = [];

    /// <summary>What people are told of each.</summary>
    public IReadOnlyList<ServedAddress> Served => [.. _open.Select(static entrance => entrance.Served)];

    /// <summary>The same in a line, for a service manager.</summary>
    public string Status => $"Serving on {string.Join(", ", Served)}";

    /// <summary>Opens what is told and not open yet, HTTPS first: a redirect has to know its port.</summary>
    /// <exception cref="EngineException">An address cannot be had; then all are as they were.</exception>
    public async Task<IReadOnlyList<Entrance>> OpenNextAsync(ServeOptions told, HttpsFront? https)
    {
        var next = new List<Entrance>();
        try
        {
            foreach (EndPoint address in told.Https.Addresses)
            {
                next.Add(FindOpen(address, next, isSecure: true)
                    ?? await OpenAsync(address, new Doorway(https, RedirectPort: null)));
            }

            foreach (EndPoint address in told.Addresses)
            {
                next.Add(FindOpen(address, next, isSecure: false)
                    ?? await OpenAsync(address, new Doorway(Https: null, RedirectPortOf(told, next))));
            }

            return next;
        }
        catch
        {
            foreach (Entrance opened in next.Except(_open))
            {
                await opened.CloseAsync();
            }

            throw;
        }
    }

    /// <summary>These are the addresses now: all of them lead to what is told, and all others are closed.</summary>
    public async Task ReplaceAsync(IReadOnlyList<Entrance> next, ServeOptions told, HttpsFront? https)
    {
        int? redirectPort = RedirectPortOf(told, next);
        foreach (Entrance entrance in next)
        {
            entrance.Change(entrance.IsSecure ? new Doorway(https, RedirectPort: null) : new Doorway(Https: null, redirectPort));
        }

        List<Entrance> left = [.. _open.Except(next)];
        _open = [.. next];
        foreach (Entrance entrance in left)
        {
            await entrance.CloseAsync();
        }
    }

    private async Task<Entrance> OpenAsync(EndPoint address, Doorway doorway)
    {
        using BoundAddress bound = addresses.Take(address);
        return await Entrance.OpenAsync(group, address, bound, sites, doorway);
    }

    private static int? RedirectPortOf(ServeOptions told, IEnumerable<Entrance> entrances) => told.Https.Redirects
        ? entrances.Where(static entrance => entrance.IsSecure).Select(static entrance => entrance.EndPoint).OfType<IPEndPoint>()
            .FirstOrDefault()?.Port
        : null;

    private Entrance? FindOpen(EndPoint told, List<Entrance> taken, bool isSecure) =>
        _open.Find(entrance => entrance.IsSecure == isSecure && entrance.Told.Equals(told) && !taken.Contains(entrance));
}
