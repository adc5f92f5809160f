using System.Net;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Server.Configuration;
using Millrace.Server.Host;

namespace Millrace.Server.Serving;

/// <summary>
/// The addresses of a server: bound while the process still has the privileges, and listened on when everything else is ready. Disposing
/// closes those that are not in use. Not thread-safe.
/// </summary>
internal sealed class BoundAddresses : IDisposable
{
    private readonly ServeOptions _started;
    private readonly ProxyPolicy _policy;
    private readonly List<(EndPoint Reported, BoundAddress Address)> _waiting = [];

    private BoundAddresses(ServeOptions started)
    {
        _started = started;
        _policy = new ProxyPolicy(started.Proxies.Trusted);
    }

    /// <summary>Binds all addresses, or none.</summary>
    /// <param name="options">Options for listeners that do not change on reload.</param>
    /// <exception cref="EngineException">An address cannot be bound; the message says why.</exception>
    /// <exception cref="ServiceException">A passed socket cannot be listened on.</exception>
    public static BoundAddresses Bind(ServeOptions options)
    {
        options.Inherited.RequireSockets();
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

    /// <summary>Takes a bound address, which the caller owns; an address added by a reload is bound now.</summary>
    /// <exception cref="EngineException">The address cannot be bound; the message says why.</exception>
    public BoundAddress Take(EndPoint configured, IEnumerable<EndPoint> open)
    {
        int index = _waiting.FindIndex(one => one.Reported.Equals(configured));
        if (index < 0)
        {
            return Bind(configured, open);
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
            Proxies = _started.Proxies.Expects(address) ? _policy : null,
            SocketMode = _started.SocketMode,
            SharesPort = overlapped is not null,
        };
        try
        {
            return _started.Inherited.Bind(address, _started.Engine.ReactorCount, settings);
        }
        catch (EngineException refusal) when (refusal.IsAddressInUse && overlapped is not null)
        {
            // Only sockets of one user can share a port, and after --user the process no longer is the user that bound the first.
            throw new EngineException(
                $"{address} overlaps {overlapped}, which this server listens on: restart the server to change that.", refusal);
        }
    }
}
