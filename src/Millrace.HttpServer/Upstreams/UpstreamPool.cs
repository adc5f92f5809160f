using System.Net.Sockets;
using Millrace.Engine;
using Millrace.Engine.Connecting;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// The connections of one reactor to the upstreams of one group, idle ones among them, and the exchanges that wait for one. Owned by the
/// <see cref="ReactorUpstreams"/>. Reactor thread only.
/// </summary>
internal sealed class UpstreamPool
{
    /// <summary>Finished exchanges kept for reuse; those of a larger peak go to the collector.</summary>
    private const int SparesKept = 1_024;

    private readonly Stack<UpstreamExchange> _spares = new();
    private readonly WaitingExchanges _waiting;
    private readonly ConnectSettings _settings;

    /// <summary>By the index of the group's targets.</summary>
    private readonly UpstreamCounters[] _targets;
    private UpstreamPeer[] _known = [];
    private PeerConnections[] _peers = [];
    private int _next;
    private bool _isClosed;

    /// <param name="reactor">The reactor.</param>
    /// <param name="group">The group.</param>
    /// <param name="countersOf">The reactor's counters for the text of an upstream.</param>
    public UpstreamPool(Reactor reactor, UpstreamGroup group, Func<string, UpstreamCounters> countersOf)
    {
        Reactor = reactor;
        Group = group;
        _waiting = new WaitingExchanges(this);
        Counters = countersOf(group.Text);
        _targets = [.. group.Targets.Select(target => countersOf(target.Text))];
        _settings = ConnectSettings.Of(reactor.Limits) with { Timeout = group.Options.ConnectTimeout };
        group.Changed += OnGroupChanged;
    }

    public Reactor Reactor { get; }

    public UpstreamGroup Group { get; }

    public UpstreamOptions Options => Group.Options;

    /// <summary>What concerns no single target.</summary>
    public UpstreamCounters Counters { get; }

    /// <summary>
    /// Begins an exchange on an idle connection, on a new one, or in the queue for one. It never throws: an exchange may fail.
    /// </summary>
    /// <param name="request">The request; copied.</param>
    /// <param name="progressed">Called when the exchange's phase, body or room has changed; not within this call.</param>
    public UpstreamExchange Begin(in UpstreamRequest request, Action progressed)
    {
        UpstreamExchange exchange = _spares.TryPop(out UpstreamExchange? spare) ? spare : new UpstreamExchange(this);
        Reactor.Accounts.ChargeState(UpstreamExchange.StateBytes);
        exchange.Start(request, progressed);
        if (!request.IsHeld)
        {
            Place(exchange);
        }

        return exchange;
    }

    /// <summary>No exchange begins any more: idle connections close now, others after their exchange.</summary>
    public void Close()
    {
        _isClosed = true;
        Group.Changed -= OnGroupChanged;
        foreach (PeerConnections peer in _peers)
        {
            peer.CloseIdle();
        }
    }

    /// <summary>Gives an exchange a connection, or has it wait for one, or fails it.</summary>
    public void Place(UpstreamExchange exchange)
    {
        UpdatePeers();
        if (TryServe(exchange, out bool isFull))
        {
            return;
        }

        if (!isFull && Group.ResolveFailure is { } failure)
        {
            exchange.FailLater(new UpstreamFailure(502, failure));
        }
        else if (_waiting.QueuedCount >= Options.QueueMax)
        {
            Counters.QueueRefused++;
            exchange.FailLater(new UpstreamFailure(503, "the queue for the upstream is full"));
        }
        else
        {
            _waiting.Add(exchange, Options.QueueTimeout);
        }
    }

    public void Withdraw(UpstreamExchange exchange) => _waiting.Remove(exchange);

    public void Return(UpstreamExchange exchange)
    {
        Reactor.Accounts.ChargeState(-UpstreamExchange.StateBytes);
        if (_spares.Count < SparesKept)
        {
            _spares.Push(exchange);
        }
    }

    /// <summary>A new connection serves the exchange it was made for, or one that waits.</summary>
    public void OnConnected(UpstreamConnection connection)
    {
        connection.Peer.Peer.NoteSuccess();
        if (connection.TakeInitiator() is { } exchange)
        {
            Serve(connection, exchange);
        }
        else
        {
            OnFree(connection);
        }
    }

    /// <summary>An exchange is over, and its connection may serve another.</summary>
    public void OnFree(UpstreamConnection connection)
    {
        if (!connection.Peer.IsGone && _waiting.First is { } waiting)
        {
            Serve(connection, waiting);
        }
        else if (Reactor.IsDraining || _isClosed || connection.Peer.IsGone || !connection.MayBeIdle)
        {
            connection.Close(withReset: false);
        }
        else
        {
            KeepIdle(connection);
        }
    }

    /// <summary>A connection has ended, idle or not, or was not made.</summary>
    public void OnEnded(UpstreamConnection connection)
    {
        PeerConnections peer = connection.Peer;
        peer.Count--;
        peer.Counters.Connections--;
        peer.Counters.Idle -= peer.RemoveIdle(connection) ? 1 : 0;
        if (_waiting.FirstQueued is { } queued)
        {
            _ = TryServe(queued, out _);
        }
    }

    private void OnGroupChanged() => Reactor.Post(static pool => ((UpstreamPool)pool!).PlaceQueued(), this);

    private void PlaceQueued()
    {
        UpdatePeers();
        while (_waiting.FirstQueued is { } queued)
        {
            _waiting.Remove(queued);
            Place(queued);
            if (WaitingExchanges.Contains(queued) && queued.CountsAsQueued)
            {
                return;
            }
        }
    }

    private void UpdatePeers()
    {
        UpstreamPeer[] peers = Group.Peers;
        if (peers != _known)
        {
            ReplacePeers(peers);
        }
    }

    /// <summary>By itself: its closure would be allocated for each exchange.</summary>
    private void ReplacePeers(UpstreamPeer[] peers)
    {
        _known = peers;
        PeerConnections[] before = _peers;
        _peers =
        [
            .. peers.Select(peer => before.FirstOrDefault(old => old.Peer == peer) ?? new PeerConnections(peer, CountersOf(peer.Target))),
        ];
        foreach (PeerConnections gone in before.Except(_peers))
        {
            gone.Leave();
        }
    }

    private UpstreamCounters CountersOf(UpstreamTarget target) => _targets[Group.Targets.ToList().IndexOf(target)];

    /// <summary>Round robin over the addresses that are up and not full; if all are down, over those.</summary>
    /// <param name="exchange">The exchange.</param>
    /// <param name="isFull">Whether an address had no connection left, so that waiting helps.</param>
    private bool TryServe(UpstreamExchange exchange, out bool isFull)
    {
        long nowMs = Reactor.NowMs;
        isFull = false;
        PeerConnections? down = null;
        for (int i = 0; i < _peers.Length; i++)
        {
            int index = (_next + i) % _peers.Length;
            PeerConnections peer = _peers[index];
            if (peer == exchange.FailedPeer && _peers.Length > 1)
            {
                continue;
            }

            if (peer.Peer.IsDown(nowMs) && _peers.Length > 1)
            {
                down ??= peer;
                continue;
            }

            if (TryServe(peer, exchange))
            {
                _next = index + 1;
                return true;
            }

            isFull = true;
        }

        if (down is not null && !isFull && TryServe(down, exchange))
        {
            _next++;
            return true;
        }

        isFull |= _peers.Length == 0 && Group.ResolveFailure is null;
        return false;
    }

    private bool TryServe(PeerConnections peer, UpstreamExchange exchange)
    {
        if (exchange.MayReuse && peer.TakeIdle() is { } idle)
        {
            peer.Counters.Idle--;
            Serve(idle, exchange);
            return true;
        }

        if (peer.Count >= Group.ConnectionsPerReactor)
        {
            return false;
        }

        Connect(peer, exchange);
        return true;
    }

    private void Serve(UpstreamConnection connection, UpstreamExchange exchange)
    {
        _waiting.Remove(exchange);
        connection.Peer.Counters.Requests++;
        connection.Peer.Counters.Reused += connection.HasServed ? 1 : 0;
        connection.Serve(exchange);
    }

    private void KeepIdle(UpstreamConnection connection)
    {
        if (CountIdle() >= Options.IdleConnectionsMax)
        {
            if (connection.Peer.Oldest() is not { } oldest)
            {
                connection.Close(withReset: false);
                return;
            }

            oldest.Close(withReset: false);
        }

        connection.Peer.AddIdle(connection);
        connection.Peer.Counters.Idle++;
        connection.BeginIdle();
    }

    private int CountIdle()
    {
        int idle = 0;
        foreach (PeerConnections peer in _peers)
        {
            idle += peer.Idle;
        }

        return idle;
    }

    private void Connect(PeerConnections peer, UpstreamExchange exchange)
    {
        peer.Count++;
        peer.Counters.Connections++;
        peer.Counters.Connects++;
        exchange.Peer = peer.Peer;
        var connection = new UpstreamConnection(this, peer, exchange);
        _waiting.Add(exchange, Options.ConnectTimeout + Options.ConnectTimeout);
        _ = ConnectAsync(connection);
    }

    private async Task ConnectAsync(UpstreamConnection connection)
    {
        UpstreamFailure failure;
        UpstreamPeer peer = connection.Peer.Peer;
        try
        {
            await Reactor.ConnectAsync(peer.EndPoint, connection.RunAsync, SettingsFor(peer.Target), CancellationToken.None);
            return;
        }
        catch (SocketException error)
        {
            if (IsOfPeer(error.SocketErrorCode))
            {
                peer.NoteFailure(Reactor.NowMs, Options);
            }

            failure = new UpstreamFailure(error.SocketErrorCode == SocketError.TimedOut ? 504 : 502, error.Message);
        }
        catch (OperationCanceledException)
        {
            failure = new UpstreamFailure(503, "the server stops");
        }
#pragma warning disable CA1031 // Whatever it is, it is this attempt's: nothing awaits this method.
        catch (Exception error)
#pragma warning restore CA1031
        {
            // A handshake that failed, for example.
            peer.NoteFailure(Reactor.NowMs, Options);
            failure = new UpstreamFailure(502, error.Message);
        }

        OnConnectFailed(connection, failure);
    }

    /// <summary>
    /// Whether a failed connect says something about the address: a lack of descriptors, ports or memory is this machine's.
    /// </summary>
    private static bool IsOfPeer(SocketError error) => error is not (SocketError.TooManyOpenSockets or SocketError.NoBufferSpaceAvailable
        or SocketError.AddressNotAvailable or SocketError.AddressAlreadyInUse);

    private ConnectSettings SettingsFor(UpstreamTarget target) => !target.IsTls ? _settings : _settings with
    {
        Filters = Options.TlsFilters?.Invoke(target) ?? throw new NotSupportedException($"{target} needs TLS, which is not set up"),
    };

    /// <summary>Nothing was sent yet, so another address may serve the request, whatever its method; each is tried once.</summary>
    private void OnConnectFailed(UpstreamConnection connection, UpstreamFailure failure)
    {
        connection.Peer.Counters.ConnectsFailed++;
        UpstreamExchange? exchange = connection.TakeInitiator();
        if (exchange is not null)
        {
            _waiting.Remove(exchange);
        }

        OnEnded(connection);
        if (exchange is null)
        {
            return;
        }

        if (++exchange.FailedConnects < _peers.Length)
        {
            exchange.FailedPeer = connection.Peer;
            Place(exchange);
            return;
        }

        connection.Peer.Counters.TimedOut += failure.Status == 504 ? 1 : 0;
        exchange.FailLater(Group.Targets.Count > 1 ? new UpstreamFailure(503, $"all upstreams are down: {failure.Reason}") : failure);
    }
}
