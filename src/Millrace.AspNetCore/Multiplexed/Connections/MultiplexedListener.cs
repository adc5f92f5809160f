using System.Net;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Multiplexed.Streams;
using Millrace.AspNetCore.Multiplexed.Tls;
using Millrace.AspNetCore.Transport.Listening;
using Millrace.Engine;
using Millrace.Quic.Connections;
using Millrace.QuicTransport;
using Millrace.Tls;
using Millrace.Tls.Quic;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>
/// One endpoint of Kestrel's over QUIC, served by all reactors. Connections whose handshake is complete wait in a queue for Kestrel's
/// accept loop; accepting never fails, it only ends. It owns its TLS. Any thread.
/// </summary>
internal sealed class MultiplexedListener : IMultiplexedConnectionListener
{
    /// <summary>A reactor that has not given back its connections by then is blocked by a handler.</summary>
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(3);

    /// <summary>
    /// As with Kestrel's own transport, whose limit for connections without requests is the shorter one: Kestrel closes those itself.
    /// </summary>
    private static readonly QuicSettings Settings = QuicSettings.Default with { IdleTimeout = 150 * QuicClock.Second };

    private readonly StreamPipeOptions[] _pipes;
    private readonly MultiplexedLog _log;
    private readonly bool _isDualMode;
    private readonly QuicTokenKeys _keys = QuicTokenKeys.Create();
    private readonly Channel<MultiplexedConnection> _accepted =
        Channel.CreateUnbounded<MultiplexedConnection>(new UnboundedChannelOptions { SingleReader = true });

    /// <summary>Set when the endpoint is bound; connections may arrive a moment earlier.</summary>
    private QuicListener _listener = null!;
    private IMultiplexedTls _tls = null!;
    private Task? _unbinding;
    private bool _isDisposed;

    private MultiplexedListener(StreamPipeOptions[] pipes, MultiplexedLog log, bool isDualMode)
    {
        _pipes = pipes;
        _log = log;
        _isDualMode = isDualMode;
    }

    public EndPoint EndPoint => _listener.LocalEndPoint;

    /// <summary>Takes ownership of what <paramref name="openTls"/> gives.</summary>
    /// <exception cref="EngineException">The endpoint cannot be bound; the message says why.</exception>
    /// <exception cref="TlsException">TLS cannot be served; the message says why.</exception>
    public static async Task<MultiplexedListener> BindAsync(
        ReactorGroup group,
        IPEndPoint endPoint,
        StreamPipeOptions[] pipes,
        MultiplexedLog log,
        ILogger transportLog,
        Func<Func<QuicServerConnection, MultiplexedConnection>, IMultiplexedTls> openTls)
    {
        var listener = new MultiplexedListener(pipes, log, isDualMode: endPoint.Address.Equals(IPAddress.IPv6Any));
        listener._tls = openTls(listener.Create);
        try
        {
            var options = new QuicListenerOptions
            {
                Settings = Settings,
                CreateCryptography = _ => new OpenSslQuicCryptography(listener._keys),
                CreateHandshake = listener._tls.Accept,
                CreateHandler = listener.Serve,
                StopCode = Http3Code.NoError,
            };
            listener._listener = await QuicListener.ListenAsync(group, endPoint, options, transportLog);
            return listener;
        }
        catch
        {
            listener._tls.Dispose();
            listener._keys.Dispose();
            throw;
        }
    }

    public async ValueTask<MultiplexedConnectionContext?> AcceptAsync(
        IFeatureCollection? features = null, CancellationToken cancellationToken = default)
    {
        while (await _accepted.Reader.WaitToReadAsync(cancellationToken))
        {
            if (_accepted.Reader.TryRead(out MultiplexedConnection? connection))
            {
                return connection;
            }
        }

        return null;
    }

    /// <summary>
    /// Refuses connections from now on. Those whose handshake is complete are still returned; all that are open continue until Kestrel
    /// ends them.
    /// </summary>
    /// <param name="cancellationToken">Ignored, as by the listener over TCP.</param>
    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        if (_unbinding is null)
        {
            _unbinding = _listener.StopAsync(Timeout.InfiniteTimeSpan);
            _accepted.Writer.Complete();
        }

        return default;
    }

    public async ValueTask DisposeAsync()
    {
        if (_isDisposed)
        {
            return;
        }

        _isDisposed = true;
        await UnbindAsync(CancellationToken.None);
        while (_accepted.Reader.TryRead(out MultiplexedConnection? connection))
        {
            connection.Refuse();
        }

        if (!await TransportReactors.EndsInTimeAsync(Task.WhenAll(_listener.DisposeAsync().AsTask(), _unbinding!), StopTimeout))
        {
            // Its handshakes need the keys.
            _log.ListenerLeft(EndPoint, StopTimeout);
            return;
        }

        _tls.Dispose();
        _keys.Dispose();
    }

    private MultiplexedConnection Create(QuicServerConnection connection) => new(connection, _pipes[connection.Reactor.Index], _log)
    {
        LocalEndPoint = Mapped(connection.LocalEndPoint),
        RemoteEndPoint = Mapped(connection.RemoteEndPoint),
    };

    /// <summary>As over TCP, where one socket serves both families: applications may compare addresses.</summary>
    private IPEndPoint Mapped(IPEndPoint endPoint) => _isDualMode ? new IPEndPoint(endPoint.Address.MapToIPv6(), endPoint.Port) : endPoint;

    /// <summary>The handshake is complete. Reactor thread.</summary>
    private MultiplexedHandler Serve(QuicServerConnection connection)
    {
        MultiplexedConnection served = (connection.Handshake as SelectingHandshake)?.Connection ?? Create(connection);
        return new MultiplexedHandler(served, accepted => Accept(accepted, connection));
    }

    private void Accept(MultiplexedConnection accepted, QuicServerConnection connection)
    {
        ConnectionTls? tls = SessionOf(connection) is { } session ? accepted.SetSession(session) : null;
        if (tls is not null && _tls.CheckOf(connection.Handshake) is { } check)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                static state => state.Listener.Check(state.Accepted, state.Tls, state.Check),
                (Listener: this, Accepted: accepted, Tls: tls, Check: check),
                preferLocal: false);
        }
        else
        {
            HandOver(accepted);
        }
    }

    private void Check(MultiplexedConnection accepted, ConnectionTls tls, Func<ConnectionTls, bool> check)
    {
        bool isAdmitted = false;
        try
        {
            isAdmitted = check(tls);
        }
#pragma warning disable CA1031 // The application's callback may throw anything: the client is refused.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _log.Unexpected("the check of the client's certificate", accepted.ConnectionId, error);
        }

        if (isAdmitted)
        {
            HandOver(accepted);
        }
        else
        {
            _log.ClientCertificateRefused(accepted.ConnectionId);
            accepted.RefuseCertificate();
        }
    }

    private void HandOver(MultiplexedConnection accepted)
    {
        _log.AcceptedConnection(accepted.ConnectionId);
        if (!_accepted.Writer.TryWrite(accepted))
        {
            accepted.Refuse();
        }
    }

    private static TlsSession? SessionOf(QuicServerConnection connection) => connection.Handshake switch
    {
        SelectingHandshake selecting => selecting.Selected?.Handshake.Session,
        OpenSslQuicHandshake handshake => handshake.Session,
        _ => null,
    };
}
