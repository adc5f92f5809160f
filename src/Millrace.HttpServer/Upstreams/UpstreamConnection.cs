using System.Diagnostics;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Engine.Loop;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// A connection to an upstream: the handler that receives, for one exchange after another. Between two it is idle in its pool, and ends
/// with any byte. It pauses while its exchange's client is behind, so that no more than the engine's high-water mark is kept. Reactor
/// thread only.
/// </summary>
internal sealed class UpstreamConnection : IOutputObserver, IInputRelay
{
    /// <summary>A request is that long on its way at most, or it meets the upstream's end.</summary>
    private const int IdleMarginMs = 1_000;

    private readonly UpstreamPool _pool;
    private readonly ReactorSignal<bool> _continues = new();
    private UpstreamExchange? _initiator;
    private UpstreamExchange? _exchange;
    private Connection? _connection;
    private bool _isClosing;
    private bool _hasInputEnded;
    private bool _endsOutput;
    private long _idleMsMax = int.MaxValue;
    private long _takenBytes;

    /// <param name="pool">The pool.</param>
    /// <param name="peer">Where it connects to.</param>
    /// <param name="initiator">The exchange it is made for; another connection may serve that one earlier.</param>
    public UpstreamConnection(UpstreamPool pool, PeerConnections peer, UpstreamExchange initiator)
    {
        _pool = pool;
        Peer = peer;
        _initiator = initiator;
        initiator.Attempt = this;
    }

    public PeerConnections Peer { get; }

    /// <summary>Whether it has served an exchange before, so that the upstream may have closed it meanwhile.</summary>
    public bool HasServed { get; private set; }

    /// <summary>The engine's connection, from connect to the end.</summary>
    public Connection Socket => _connection!;

    /// <summary>The exchange that the connection was made for, if that still waits for it.</summary>
    public UpstreamExchange? TakeInitiator()
    {
        UpstreamExchange? initiator = _initiator?.Attempt == this ? _initiator : null;
        _initiator = null;
        initiator?.Attempt = null;
        return initiator;
    }

    /// <summary>The handler: returns when the connection is to end.</summary>
    public async Task RunAsync(Connection connection)
    {
        _connection = connection;
        connection.Observer = this;
        connection.Receiver.Relay = this;
        try
        {
            _pool.OnConnected(this);
            while (!_isClosing)
            {
                if (_exchange is null && _hasInputEnded)
                {
                    return;
                }

                if (!_hasInputEnded && _exchange is not null && connection.Input.Length >= connection.Limits.InputHighWaterBytes)
                {
                    // The client is behind. It takes what is there, or gives the exchange up.
                    await _continues.Begin();
                    _exchange?.RestartDeadline();
                    continue;
                }

                ReadOutcome outcome = _hasInputEnded ? await connection.Reader.WaitForDeadlineAsync()
                    : _exchange is null ? await connection.ReadIdleAsync()
                    : await connection.ReadAsync();
                if ((_hasInputEnded && outcome != ReadOutcome.TimedOut) || !Take(outcome))
                {
                    return;
                }
            }
        }
        finally
        {
            _isClosing = true;
            _exchange?.OnConnectionLost();
            _pool.OnEnded(this);
        }
    }

    public void Serve(UpstreamExchange exchange)
    {
        Debug.Assert(_exchange is null && !_isClosing);
        _exchange = exchange;
        Socket.Reader.SetIdle(false);
        // The upstream has answered all that was written before.
        _takenBytes = Socket.WrittenBytes;
        exchange.Attach(this, isReused: HasServed);
        HasServed = true;
    }

    /// <summary>Whether the upstream has taken more of what was written since the last call, and has not all of it yet.</summary>
    public bool IsTaking()
    {
        long before = _takenBytes;
        _takenBytes = Socket.Sender.AcknowledgedBytes();
        return Socket.UnsentBytes > 0 && _takenBytes > before;
    }

    /// <summary>Limits the time until the upstream's next byte.</summary>
    public void SetDeadline(TimeSpan most, long latestMs) =>
        Socket.SetReadDeadline(Math.Min(latestMs, _pool.Reactor.NowMs + (most.Ticks / TimeSpan.TicksPerMillisecond)));

    /// <summary>The exchange is over: the connection serves another, or is closed.</summary>
    /// <param name="exchange">The exchange.</param>
    /// <param name="mayServeOn">Whether the connection can serve another, by what both sides have sent.</param>
    /// <param name="isCut">Whether request or response are not complete.</param>
    public void Leave(UpstreamExchange exchange, bool mayServeOn, bool isCut)
    {
        Debug.Assert(_exchange == exchange);
        _exchange = null;
        bool hasSurplus = !isCut && !_isClosing && !Socket.Input.IsEmpty;
        Peer.Counters.Malformed += hasSurplus ? 1 : 0;
        if (mayServeOn && !hasSurplus && !isCut && !_hasInputEnded && !_isClosing)
        {
            // Where the client took the last of the response at once, the handler receives again, for the next exchange or for none. It may
            // find the connection's end at that, so that the pool must know the connection before. A handler that receives already waits
            // for the next exchange from now on, unless the pool had one.
            Socket.Reader.SetIdle(true);
            _pool.OnFree(this);
            Continue();
        }
        else
        {
            Close(withReset: isCut || hasSurplus);
        }
    }

    /// <summary>Whether the upstream keeps it long enough for another request to be worth its risk.</summary>
    public bool MayBeIdle => _idleMsMax > 0;

    public void BeginIdle() =>
        Socket.SetReadDeadline(_pool.Reactor.NowMs + Math.Min(_idleMsMax, (long)_pool.Options.IdleFor.TotalMilliseconds));

    /// <summary>
    /// The upstream closes it when it was idle for so long ("Keep-Alive: timeout"); to end it before loses no request that cannot be sent
    /// again.
    /// </summary>
    public void SetUpstreamsIdleTime(long? seconds)
    {
        if (seconds is { } known)
        {
            _idleMsMax = (known * 1_000) - IdleMarginMs;
        }
    }

    /// <summary>The client has taken bytes, so that more may be received.</summary>
    public void Continue()
    {
        if (_continues.IsPending && !_hasInputEnded && Socket.Input.Length < Socket.Limits.InputHighWaterBytes)
        {
            _continues.Complete(true);
        }
    }

    /// <summary>
    /// Ends it: at once with a reset, or in order, when what was written is sent, as its handler then returns. No effect after the end.
    /// </summary>
    /// <param name="withReset">Whether the upstream is to learn that something was cut.</param>
    public void Close(bool withReset)
    {
        if (_isClosing)
        {
            return;
        }

        _isClosing = true;
        if (withReset)
        {
            Socket.Abort();
        }
        else
        {
            Socket.Reader.TryEndWait(ReadOutcome.TimedOut);
        }

        if (_continues.IsPending)
        {
            _continues.Complete(false);
        }
    }

    /// <summary>Ends the direction to the upstream when all is sent, and receives on. False through TLS, which has no such end.</summary>
    public bool TryEndOutput()
    {
        bool hasEnd = Socket.Filters.IsEmpty;
        _endsOutput = hasEnd;
        ShutDownIfSent();
        return hasEnd;
    }

    Connection? IInputRelay.Destination => _exchange?.Destination?.Connection;

    long IInputRelay.BytesMax => _exchange!.MovableBytes;

    int IInputRelay.Frame(Span<byte> header, int before, ref int bytes) =>
        _exchange!.Destination!.Frame(header, _exchange.RemainingBytes - before, ref bytes);

    void IInputRelay.OnMoved(int bytes) => _exchange!.OnMoved(bytes);

    public void OnTransferred(Connection connection)
    {
        ShutDownIfSent();
        _exchange?.NoteSent();
    }

    public void OnClosed(Connection connection)
    {
        _isClosing = true;
        if (_continues.IsPending)
        {
            _continues.Complete(false);
        }
    }

    public void OnGone(Connection connection) => _connection = null;

    private void ShutDownIfSent()
    {
        if (_endsOutput && !_isClosing && Socket.UnsentBytes == 0)
        {
            _endsOutput = false;
            Socket.Backend.ShutdownSend(Socket.Descriptor);
        }
    }

    /// <summary>False if the connection is to end.</summary>
    private bool Take(ReadOutcome outcome)
    {
        if (_isClosing)
        {
            return false;
        }

        if (_exchange is null)
        {
            // A byte that belongs to no exchange, the upstream's end, the idle time's, or the group's.
            Peer.Counters.Malformed += outcome == ReadOutcome.Data ? 1 : 0;
            _isClosing = true;
            return false;
        }

        switch (outcome)
        {
            case ReadOutcome.Data:
                _exchange.OnInput();
                break;
            case ReadOutcome.End or ReadOutcome.Reset:
                _hasInputEnded = true;
                _exchange.OnInputEnded(isReset: outcome == ReadOutcome.Reset);
                break;
            case ReadOutcome.TimedOut:
                _exchange.OnTimeout();
                break;
        }

        return !_isClosing;
    }
}
