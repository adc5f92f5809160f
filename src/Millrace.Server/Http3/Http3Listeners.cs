using System.Collections.Immutable;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Datagrams;
using Millrace.HttpServer;
using Millrace.Quic.Connections;
using Millrace.QuicTransport;
using Millrace.Server.Configuration;
using Millrace.Server.Serving;
using Millrace.Tls.Quic;

namespace Millrace.Server.Http3;

/// <summary>
/// Opens listeners of HTTP/3, with the limits of the start, and keeps what they share: the keys of tokens and of stateless resets, and the
/// counters of all that there have been. Any thread. Disposed of when all listeners have stopped.
/// </summary>
internal sealed class Http3Listeners : IDisposable
{
    private readonly Lazy<QuicTokenKeys> _keys = new(QuicTokenKeys.Create);
    private readonly ReactorGroup _group;
    private readonly QuicSettings _settings;
    private readonly EndpointLimits _limits;
    private readonly QlogFolder? _qlog;
    private readonly ILogger _log;
    private ImmutableArray<IReadOnlyList<QuicListenerCounters>> _counters = [];

    public Http3Listeners(ReactorGroup group, ServeOptions started, ILoggerFactory logging)
    {
        _group = group;
        _log = logging.CreateLogger("Millrace.Quic");
        _qlog = QlogFolder.Open(started.Https.QlogFolder, _log);
        _settings = SettingsOf(started) with { CreateTrace = _qlog is null ? null : _qlog.Trace };
        _limits = LimitsOf(started, group.Reactors.Count);
    }

    /// <summary>Those of each reactor, of listeners that have stopped as well.</summary>
    public IEnumerable<QuicListenerCounters> Counters => _counters.SelectMany(static one => one);

    /// <summary>Gets the smoothed round-trip time of each connection at its end, in nanoseconds. Called by reactors.</summary>
    public Action<long>? OnRoundTripTime { get; set; }

    /// <summary>Open connections.</summary>
    public long Connections => Counters.Sum(static one => one.Connections);

    /// <summary>Serves HTTP/3 on sockets that are bound, which are the listener's from then on.</summary>
    /// <param name="sockets">The sockets of an address.</param>
    /// <param name="sites">What is served.</param>
    /// <param name="endpoint">The address, which has a target for each new connection.</param>
    public async Task<Http3Listener> ListenAsync(DatagramSockets sockets, StaticSiteServer sites, ListenEndpoint endpoint)
    {
        var listener = new Http3Listener(endpoint);
        QuicTokenKeys keys = _keys.Value;
        var options = new QuicListenerOptions
        {
            Settings = _settings,
            Limits = _limits,
            OnRoundTripTime = time => OnRoundTripTime?.Invoke(time),
            CreateCryptography = _ => new OpenSslQuicCryptography(keys),
            CreateHandshake = _ => listener.Target.Https?.QuicTerminator?.AcceptQuic(),
            CreateHandler = connection => sites.CreateHttp3Handler(connection, listener.Target.HostCheck.OfQuic(connection)),
        };
        QuicListener opened = await QuicListener.ListenAsync(_group, sockets, options, _log);
        ImmutableInterlocked.Update(ref _counters, static (all, one) => all.Add(one), opened.Counters);
        listener.Attach(opened);
        return listener;
    }

    public void Dispose()
    {
        _qlog?.Dispose();
        if (_keys.IsValueCreated)
        {
            _keys.Value.Dispose();
        }
    }

    /// <summary>An idle connection ends as one over TCP does.</summary>
    private static QuicSettings SettingsOf(ServeOptions options) => new()
    {
        IdleTimeout = (long)options.Web.KeepAlive.TotalMilliseconds * QuicClock.Millisecond,
    };

    /// <summary>Each reactor has its part of the connections; those of a client may all be on one.</summary>
    private static EndpointLimits LimitsOf(ServeOptions options, int reactors) => new()
    {
        Connections = Math.Max(1, options.Engine.Limits.Connections / reactors),
        ConnectionsPerAddress =
            options.Engine.Limits.ConnectionsPerClient is > 0 and int most ? most : Math.Max(1, options.Engine.Limits.Connections),
    };
}
