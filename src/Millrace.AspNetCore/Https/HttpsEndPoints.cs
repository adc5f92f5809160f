using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Millrace.AspNetCore.Transport;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// The endpoints whose TLS Millrace is to terminate. Kestrel builds an endpoint's connection middleware just before it has the transport
/// bind it, in one async flow: that flow, not its value, identifies an endpoint, as another may have the same value. Where other code
/// interrupts the flow, Kestrel terminates TLS. Disposed of after the transport, whose reactors use the terminators. Any thread.
/// </summary>
internal sealed class HttpsEndPoints(IOptions<MillraceTransportOptions> options, ILoggerFactory logs) : IDisposable
{
    private readonly TransportLog _log = new(logs.CreateLogger(TransportLog.Category));
    private readonly AsyncLocal<HttpsEndPoint?> _built = new();
    private readonly Lock _lock = new();
    private readonly HashSet<HttpsEndPoint> _inUse = [];

    private volatile KestrelServerOptions? _server;
    private ConnectionQuota? _quota;
    private bool _hasQuota;

    /// <summary>
    /// The quota of Kestrel's MaxConcurrentConnections. Kestrel counts a connection from its accept where it terminates TLS, but only after
    /// the handshake where Millrace does; the quota covers connections from their accept. Null without that limit, and where no endpoint
    /// uses Millrace's TLS. Read when an endpoint is bound: before that Kestrel's options are not final.
    /// </summary>
    public ConnectionQuota? Quota
    {
        get
        {
            lock (_lock)
            {
                if (!_hasQuota && _server is { } server)
                {
                    _quota = server.Limits.MaxConcurrentConnections is { } most ? new ConnectionQuota(most) : null;
                    _hasQuota = true;
                }

                return _quota;
            }
        }
    }

    /// <summary>The number of endpoints with a terminator.</summary>
    public int InUse
    {
        get
        {
            lock (_lock)
            {
                return _inUse.Count;
            }
        }
    }

    /// <summary>Notes the server's own options; called for each endpoint that uses Millrace's TLS.</summary>
    public void NoteServer(KestrelServerOptions server) => _server = server;

    /// <summary>Called when an endpoint's middleware is built, from the last registered to the first.</summary>
    public void NoteBuilt(HttpsEndPoint endPoint)
    {
        // Of two calls for one endpoint the last one counts.
        if (_built.Value?.IsSameEndPoint(endPoint) != true)
        {
            _built.Value = endPoint;
        }
    }

    /// <summary>
    /// Takes the terminator for the listener of the endpoint that is bound; null where Millrace's TLS was not requested or Kestrel
    /// terminates TLS. Must be called within the flow of the binding.
    /// </summary>
    public ListenersTls? Take(EndPoint bound)
    {
        HttpsEndPoint? built = _built.Value;
        // Cleared, so that reactors and timers started here do not inherit it.
        _built.Value = null;
        if (built?.Matches(bound) != true)
        {
            return null;
        }

        lock (_lock)
        {
            if (built.Take(logs, _log, Quota) is not { } terminator)
            {
                return null;
            }

            _inUse.Add(built);
            return new ListenersTls(terminator, () => Return(built));
        }
    }

    public void Dispose()
    {
        lock (_lock)
        {
            foreach (HttpsEndPoint endPoint in _inUse)
            {
                if (options.Value.ReactorGroup is null)
                {
                    endPoint.Dispose();
                }
                else
                {
                    // In a shared group handshakes may still be running, and use the terminator.
                    endPoint.StopWatch();
                }
            }

            _inUse.Clear();
        }
    }

    private void Return(HttpsEndPoint endPoint)
    {
        lock (_lock)
        {
            if (endPoint.ReturnIsLast())
            {
                _inUse.Remove(endPoint);
            }
        }
    }
}

/// <summary>The TLS terminator of one listener, held from before it is bound until it receives no more connections.</summary>
internal sealed class ListenersTls(TlsTerminator terminator, Action giveBack) : IDisposable
{
    private bool _isGivenBack;

    public TlsTerminator Terminator { get; } = terminator;

    public void Dispose()
    {
        if (!Interlocked.Exchange(ref _isGivenBack, true))
        {
            giveBack();
        }
    }
}
