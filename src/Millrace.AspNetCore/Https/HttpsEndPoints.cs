using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Transport;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// The addresses whose TLS Millrace is to terminate. Kestrel builds an address's connection middleware just before it has the transport
/// bind it, in one flow: by that, and not by its value, an address is known, which another one may have had before or have beside it.
/// Where somebody comes in between who interrupts the flow, Kestrel terminates TLS. Disposed after the transport, whose reactors use the
/// terminators. Any thread.
/// </summary>
internal sealed class HttpsEndPoints(
    IOptions<MillraceTransportOptions> options, IOptions<KestrelServerOptions> kestrel, ILoggerFactory logs) : IDisposable
{
    private readonly TransportLog _log = new(logs.CreateLogger(TransportLog.Category));
    private readonly AsyncLocal<HttpsEndPoint?> _built = new();
    private readonly Lock _changing = new();
    private readonly HashSet<HttpsEndPoint> _inUse = [];

    /// <summary>Asked for when an address is bound: before that Kestrel's options are in the making.</summary>
    private readonly Lazy<ConnectionPlaces?> _places =
        new(() => kestrel.Value.Limits.MaxConcurrentConnections is { } most ? new ConnectionPlaces(most) : null);

    /// <summary>
    /// By Kestrel's MaxConcurrentConnections, which counts a connection from its first moment where Kestrel terminates TLS, and here not
    /// before its handshake is done. Null without that limit.
    /// </summary>
    public ConnectionPlaces? Places => _places.Value;

    /// <summary>How many have a terminator.</summary>
    public int InUse
    {
        get
        {
            lock (_changing)
            {
                return _inUse.Count;
            }
        }
    }

    /// <summary>The address's middleware is built, from the last that was registered to the first.</summary>
    public void NoteBuilt(HttpsEndPoint endPoint)
    {
        // Of two calls for one address the last one counts.
        if (_built.Value?.IsBeside(endPoint) != true)
        {
            _built.Value = endPoint;
        }
    }

    /// <summary>
    /// What terminates the TLS of the address that is bound, for its listener; null where nobody asked for it, or Kestrel does it. Called
    /// where the flow of the binding is known still.
    /// </summary>
    public ListenersTls? Take(EndPoint bound)
    {
        HttpsEndPoint? built = _built.Value;
        // Reactors and timers that begin here are to know nothing of it.
        _built.Value = null;
        if (built?.MayBe(bound) != true)
        {
            return null;
        }

        lock (_changing)
        {
            if (built.Take(logs, _log, Places) is not { } terminator)
            {
                return null;
            }

            _inUse.Add(built);
            return new ListenersTls(terminator, () => Return(built));
        }
    }

    public void Dispose()
    {
        lock (_changing)
        {
            foreach (HttpsEndPoint endPoint in _inUse)
            {
                if (options.Value.ReactorGroup is null)
                {
                    endPoint.Dispose();
                }
                else
                {
                    // In a group of somebody else's, handshakes may still be under way: what they use stays.
                    endPoint.EndWatch();
                }
            }

            _inUse.Clear();
        }
    }

    private void Return(HttpsEndPoint endPoint)
    {
        lock (_changing)
        {
            if (endPoint.IsLastToReturn())
            {
                _inUse.Remove(endPoint);
            }
        }
    }
}
