using System.Net;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Quic.Connections;
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
    private readonly List<DatagramSockets> _waitingDatagrams = [];

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
                if (options.HasHttp3(address) && options.Https.Addresses.Contains(address))
                {
                    var local = (IPEndPoint)bound._waiting[^1].Address.EndPoint;
                    bound._waitingDatagrams.Add(
                        bound.BindDatagrams(local, [.. bound._waitingDatagrams.Select(static one => one.EndPoint)]));
                }
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

    /// <summary>Takes the UDP sockets for HTTP/3 of an address that is bound for HTTPS; the caller owns them.</summary>
    /// <exception cref="EngineException">They cannot be bound; the message says why.</exception>
    public DatagramSockets TakeDatagrams(IPEndPoint local, IEnumerable<IPEndPoint> open)
    {
        int index = _waitingDatagrams.FindIndex(one => one.EndPoint.Equals(local));
        if (index < 0)
        {
            return BindDatagrams(local, open);
        }

        DatagramSockets sockets = _waitingDatagrams[index];
        _waitingDatagrams.RemoveAt(index);
        return sockets;
    }

    public void Dispose()
    {
        _waiting.ForEach(static one => one.Address.Dispose());
        _waitingDatagrams.ForEach(static one => one.Dispose());
    }

    private DatagramSockets BindDatagrams(IPEndPoint local, IEnumerable<IPEndPoint> open)
    {
        var settings = new DatagramSettings
        {
            AllowsSharing = true,
            SharesPort = open.Any(other => SocketEndPoint.Overlap(local, other)),
        };
        int sockets = Math.Min(_started.Engine.ReactorCount, ConnectionIdRule.EndpointsMax);
        try
        {
            return _started.Inherited.BindDatagrams(local, sockets, settings);
        }
        catch (EngineException refusal)
        {
            throw new EngineException($"HTTP/3 over UDP: {refusal.Message}", refusal)
            {
                ErrorNumber = refusal.ErrorNumber,
                IsMistake = refusal.IsMistake,
            };
        }
    }

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
