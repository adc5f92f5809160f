using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Engine.Proxies;
using Millrace.Server.Options;
using Millrace.Server.Service;

namespace Millrace.Server.Serving;

/// <summary>
/// The addresses of a server, bound while it may still bind them, and listened on when everything else is ready. Disposing gives up those
/// that were not. One thread at a time.
/// </summary>
internal sealed class BoundAddresses : IDisposable
{
    private readonly ServeOptions _started;
    private readonly ProxyGate _gate;
    private readonly List<(EndPoint Told, BoundAddress Address)> _waiting = [];

    private BoundAddresses(ServeOptions started)
    {
        _started = started;
        _gate = new ProxyGate(started.Proxies.Trusted);
    }

    /// <summary>Binds all of them, or none.</summary>
    /// <param name="options">What holds for listeners to the end, whatever is told later.</param>
    /// <exception cref="EngineException">One of them cannot be had; the message says why.</exception>
    /// <exception cref="ServiceException">What was handed over cannot be listened on.</exception>
    public static BoundAddresses Bind(ServeOptions options)
    {
        options.Handed.RequireSockets();
        var bound = new BoundAddresses(options);
        try
        {
            foreach (EndPoint address in options.Https.Addresses.Concat(options.Addresses))
            {
                bound._waiting.Add((address, bound.Bind(address, [.. bound._waiting.Select(static one => one.Address.EndPoint)])));
            }

            return bound;
        }
        catch
        {
            bound.Dispose();
            throw;
        }
    }

    /// <summary>Gives one to who listens on it and disposes of it: bound before, or now, as one that is told later is.</summary>
    /// <param name="told">The address as it was told.</param>
    /// <param name="open">Those that are listened on.</param>
    /// <exception cref="EngineException">It cannot be had; the message says why.</exception>
    public BoundAddress Take(EndPoint told, IEnumerable<EndPoint> open)
    {
        int index = _waiting.FindIndex(one => one.Told.Equals(told));
        if (index < 0)
        {
            return Bind(told, open);
        }

        BoundAddress address = _waiting[index].Address;
        _waiting.RemoveAt(index);
        return address;
    }

    public void Dispose() => _waiting.ForEach(static one => one.Address.Dispose());

    private BoundAddress Bind(EndPoint address, IEnumerable<EndPoint> open)
    {
        EndPoint? overlapped = open.FirstOrDefault(other => SocketEndPoint.Overlap(address, other));
        ListenSettings settings = ListenSettings.Of(_started.Engine) with
        {
            Proxies = _started.Proxies.Expects(address) ? _gate : null,
            SocketMode = _started.SocketMode,
            SharesPort = overlapped is not null,
        };
        try
        {
            return _started.Handed.Bind(address, _started.Engine.ReactorCount, settings);
        }
        catch (EngineException refusal) when (refusal.IsAddressInUse && overlapped is not null)
        {
            // Only sockets of one user share a port, and who started as another (--user) was that when it bound the first.
            throw new EngineException($"{address} overlaps {overlapped}, which this server listens on: start it again to change that.");
        }
    }
}
