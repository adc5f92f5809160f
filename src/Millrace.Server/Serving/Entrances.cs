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
    public async Task<IReadOnlyList<Placement>> OpenNextAsync(ServeOptions told, HttpsFront? https)
    {
        Destination[] wanted = [.. told.Https.Addresses.Select(Destination.Secure), .. told.Addresses.Select(Destination.Plain)];
        Entrance?[] kept = FindOpen(wanted);
        var next = new List<Placement>();
        try
        {
            for (int i = 0; i < wanted.Length; i++)
            {
                var doorway = new Doorway(wanted[i].IsSecure ? https : null, RedirectPortOf(told, next));
                next.Add(new Placement(kept[i] ?? await OpenAsync(wanted[i].Address, doorway, next), wanted[i].IsSecure));
            }

            return next;
        }
        catch
        {
            await CloseAsync(next.Select(static placement => placement.Entrance).Except(_open));
            throw;
        }
    }

    /// <summary>
    /// These are the addresses now: all of them lead to what is told, and all others are closed. Completes when no connection meets what
    /// they led to before.
    /// </summary>
    public async Task ReplaceAsync(IReadOnlyList<Placement> next, ServeOptions told, HttpsFront? https)
    {
        int? redirectPort = RedirectPortOf(told, next);
        foreach (Placement placement in next)
        {
            placement.Entrance.Change(new Doorway(placement.IsSecure ? https : null, redirectPort));
        }

        List<Entrance> before = _open;
        _open = [.. next.Select(static placement => placement.Entrance)];
        await CloseAsync(before.Except(_open));
    }

    private async Task<Entrance> OpenAsync(EndPoint address, Doorway doorway, IEnumerable<Placement> others)
    {
        IEnumerable<Entrance> listening = _open.Concat(others.Select(static placement => placement.Entrance));
        using BoundAddress bound = addresses.Take(address, listening.Select(static entrance => entrance.EndPoint));
        return await Entrance.OpenAsync(group, address, bound, sites, doorway);
    }

    private async Task CloseAsync(IEnumerable<Entrance> left)
    {
        foreach (Entrance entrance in left)
        {
            await entrance.CloseAsync();
        }

        // What a reactor does now, and connections that were dealt to it, come before this.
        foreach (Reactor reactor in group.Reactors)
        {
            await reactor.PostAsync(static () => { });
        }
    }

    private static int? RedirectPortOf(ServeOptions told, IEnumerable<Placement> placements) => told.Https.Redirects
        ? placements.Where(static placement => placement.IsSecure).Select(static placement => placement.Entrance.EndPoint)
            .OfType<IPEndPoint>().FirstOrDefault()?.Port
        : null;

    /// <summary>What is open already of what is wanted. An address that is told twice, as any port is, keeps its kind first.</summary>
    private Entrance?[] FindOpen(Destination[] wanted)
    {
        var found = new Entrance?[wanted.Length];
        foreach (bool staysAsItIs in (bool[])[true, false])
        {
            for (int i = 0; i < wanted.Length; i++)
            {
                (EndPoint address, bool isSecure) = wanted[i];
                found[i] ??= _open.Find(entrance =>
                    entrance.IsAt(address) && !found.Contains(entrance) && (entrance.IsSecure == isSecure || !staysAsItIs));
            }
        }

        return found;
    }

    /// <summary>An address as it was told, and whether it is to speak TLS.</summary>
    private readonly record struct Destination(EndPoint Address, bool IsSecure)
    {
        public static Destination Secure(EndPoint address) => new(address, IsSecure: true);

        public static Destination Plain(EndPoint address) => new(address, IsSecure: false);
    }
}

/// <summary>An address that is open, and whether it is to speak TLS.</summary>
internal sealed record Placement(Entrance Entrance, bool IsSecure);
