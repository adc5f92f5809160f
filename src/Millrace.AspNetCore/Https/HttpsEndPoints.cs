using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Transport;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// The addresses whose TLS Millrace is to terminate, as Kestrel's configuration has named them; the transport asks when it binds one.
/// Disposed after the transport, whose reactors use the terminators. Any thread.
/// </summary>
internal sealed class HttpsEndPoints(
    IOptions<MillraceTransportOptions> options, IOptions<KestrelServerOptions> kestrel, ILoggerFactory logs) : IDisposable
{
    private readonly TransportLog _log = new(logs.CreateLogger(TransportLog.Category));
    private readonly Lock _changing = new();
    private readonly List<HttpsEndPoint> _all = [];

    /// <summary>Asked for when an address is bound: before that Kestrel's options are in the making.</summary>
    private readonly Lazy<ConnectionPlaces?> _places =
        new(() => kestrel.Value.Limits.MaxConcurrentConnections is { } most ? new ConnectionPlaces(most) : null);

    /// <summary>
    /// By Kestrel's MaxConcurrentConnections, which counts a connection from its first moment where Kestrel terminates TLS, and here not
    /// before its handshake is done. Null without that limit.
    /// </summary>
    public ConnectionPlaces? Places => _places.Value;

    public void Add(HttpsEndPoint endPoint)
    {
        lock (_changing)
        {
            // Of two calls for one address the last one counts.
            _all.Insert(0, endPoint);
        }
    }

    /// <summary>What terminates the TLS of an address; null where nobody asked for it, or Kestrel does it.</summary>
    public TlsTerminator? TerminatorOf(EndPoint endPoint)
    {
        lock (_changing)
        {
            return _all.Find(one => one.IsFor(endPoint))?.Terminate(logs, _log, Places);
        }
    }

    public void Dispose()
    {
        lock (_changing)
        {
            // In a group of somebody else's, handshakes may still be under way: what they use stays.
            _all.ForEach(options.Value.ReactorGroup is null ? static one => one.Dispose() : static one => one.EndWatch());
            _all.Clear();
        }
    }
}
