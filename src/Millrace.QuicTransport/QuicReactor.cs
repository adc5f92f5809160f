using Millrace.Engine;
using Millrace.Engine.Accounting;
using Millrace.Engine.Buffers;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Loop;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.QuicTransport;

/// <summary>
/// The QUIC connections of one reactor and one listener, or of a client: takes datagrams from its sockets, drives the connections, and
/// sends once for each iteration what they have to send. It owns the endpoint, the memory of its streams, and its sockets. Reactor thread
/// only, except <see cref="Reactor"/>, <see cref="Counters"/> and <see cref="ForeignBatches"/>.
/// </summary>
internal sealed class QuicReactor : IDatagramHandler, ILoopTimer, ITrimmable, IMemoryHolder, IDisposable
{
    private static readonly Action<object?> SendDeferred = static state => ((QuicReactor)state!)._sender.SendAll();

    private readonly ConnectionSlots _slots = new();
    private readonly ConnectionTimers _timers;
    private readonly SendQueue _sender;
    private readonly DatagramDelivery _delivery;
    private readonly ServerAcceptor? _acceptor;
    private readonly QuicCryptography _cryptography;
    private readonly BlockPool _blocks = new();
    private readonly List<DatagramSocket> _sockets = [];
    private ForeignDatagrams? _foreign;
    private TaskCompletionSource? _drained;
    private int _kept;
    private bool _isClosing;
    private bool _isDisposed;
    private bool _isSendDeferred;

    /// <summary><paramref name="options"/>: null for a client.</summary>
    public QuicReactor(
        Reactor reactor, QuicSettings settings, EndpointLimits limits, QuicCryptography cryptography, QuicListenerOptions? options,
        ConnectionIdRule idRule, QuicTransportLog log)
    {
        Reactor = reactor;
        Log = log;
        _cryptography = cryptography;
        IdRule = idRule;
        _acceptor = options is null ? null : new ServerAcceptor(this, options);
        _timers = new ConnectionTimers(reactor.Backend.NowNs);
        _sender = new SendQueue(this);
        _delivery = new DatagramDelivery(this, _acceptor);
        Endpoint = new QuicEndpoint(settings, limits, cryptography, _blocks, new StreamPool(_blocks), _acceptor, idRule);
        reactor.Loop.Timers.Add(this);
        reactor.MemoryTrimmer.Add(this);
        reactor.Admission.MemoryHolders.Add(this);
    }

    public Reactor Reactor { get; }

    public QuicTransportLog Log { get; }

    public QuicListenerCounters Counters { get; } = new();

    public QuicEndpoint Endpoint { get; }

    /// <summary>Which datagrams are for it.</summary>
    public ConnectionIdRule IdRule { get; }

    /// <summary>The number of the last stop.</summary>
    public int LastStop { get; private set; }

    /// <summary>No new connections; those that there are should end.</summary>
    public bool IsStopping { get; private set; }

    /// <summary>For datagrams that others hand over. Any thread.</summary>
    public ForeignBatchPool ForeignBatches { get; } = new();

    /// <summary>Nanoseconds of the clock that all times of QUIC are of.</summary>
    public long Now => Reactor.Backend.NowNs;

    public int Connections => _slots.Count;

    long ILoopTimer.DueNs => _timers.DueNs;

    /// <summary>Completes when all sockets are closed and everything was given back.</summary>
    public TaskCompletionSource Stopped { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>The others of the listener, for datagrams that are theirs.</summary>
    public void SetNeighbours(QuicReactor[] all) => _foreign = all.Length > 1 ? new ForeignDatagrams(all) : null;

    public void Add(DatagramSocket socket)
    {
        _sockets.Add(socket);
        Volatile.Write(ref Counters.Socket, socket.Counters);
        socket.Start();
    }

    /// <summary>The socket to send from: of a client that has moved, the one of its present address.</summary>
    public DatagramSocket SocketOf(in PathAddress local)
    {
        foreach (DatagramSocket socket in _sockets)
        {
            if (socket.LocalAddress.Port == local.Port)
            {
                return socket;
            }
        }

        return _sockets[0];
    }

    void IDatagramHandler.OnReceived(
        DatagramSocket socket, Span<byte> bytes, int segmentBytes, in DatagramAddress from, in DatagramAddress to, DatagramEcn ecn)
    {
        long now = Now;
        PathAddress remote = Addresses.ToPath(from);
        // A client's address is the one that it has given to its connection, which may be any of the machine's.
        PathAddress local = Addresses.ToPath(_acceptor is null ? socket.LocalAddress : to);
        Counters.BytesReceived += bytes.Length;
        segmentBytes = segmentBytes <= 0 ? bytes.Length : segmentBytes;
        for (int at = 0; at < bytes.Length; at += segmentBytes)
        {
            Receive(socket, bytes.Slice(at, Math.Min(segmentBytes, bytes.Length - at)), remote, local, (EcnMark)ecn, now);
        }
    }

    void IDatagramHandler.OnReceivedAll(DatagramSocket socket) => _foreign?.PostAll();

    void IDatagramHandler.OnRoom(DatagramSocket socket)
    {
        _sender.OnRoom();
        if (_isClosing)
        {
            SendLast();
        }
        else
        {
            DeferSend();
        }
    }

    void IDatagramHandler.OnClosed(DatagramSocket socket)
    {
        _sockets.Remove(socket);
        if (_sockets.Count == 0)
        {
            // The listener has stopped, or the reactor has, with connections.
            IsStopping = true;
            Abort();
            Dispose();
        }
    }

    /// <summary>Datagrams that came to another reactor's socket.</summary>
    public void Receive(ForeignBatch batch)
    {
        if (_sockets.Count == 0)
        {
            return;
        }

        long now = Now;
        for (int i = 0; i < batch.Count; i++)
        {
            Span<byte> datagram = batch.Get(i, out PathAddress from, out PathAddress to, out EcnMark ecn);
            _delivery.Deliver(_sockets[0], datagram, from, to, ecn, now);
        }
    }

    void ILoopTimer.RunDue(long nowNs)
    {
        foreach (int slot in _timers.Advance(nowNs))
        {
            if (_slots[slot] is not { } connection)
            {
                continue;
            }

            connection.TimerAt = QuicClock.Never;
            Reactor.Heartbeat.Beat();
            if (connection.Connection.NextTimeout <= nowNs)
            {
                connection.OnTimeout(nowNs);
                Enqueue(connection);
            }

            if (connection.DeadlineMs <= Reactor.NowMs)
            {
                connection.RunDeadline();
                Enqueue(connection);
            }

            if (!connection.IsQueued)
            {
                SetTimer(connection, nowNs);
            }
        }
    }

    void ITrimmable.Trim(bool all)
    {
        _slots.Trim();
        if (all)
        {
            _blocks.Trim();
        }
    }

    int IMemoryHolder.Shed(ClientAccount account, long bytesMin, long downToBytes, int most)
    {
        int ended = 0;
        for (int i = 0; i < _slots.Length && ended < most && account.Bytes > downToBytes; i++)
        {
            if (_slots[i] is QuicServerConnection connection && connection.TryShed(account, bytesMin))
            {
                Reactor.Admission.NoteStarved();
                Enqueue(connection);
                ended++;
            }
        }

        return ended;
    }

    /// <summary>Has a connection asked, at the end of the iteration, what it has to send.</summary>
    public void Enqueue(QuicTransportConnection connection)
    {
        if (!connection.IsQueued && connection.Slot >= 0)
        {
            connection.IsQueued = true;
            _sender.Add(connection);
            DeferSend();
        }
    }

    /// <summary>The handler's deadline has changed: the timer is set earlier, if it must.</summary>
    public void SetDeadlineTimer(QuicTransportConnection connection)
    {
        long now = Now;
        _timers.Set(connection, DeadlineNs(connection, now), now);
    }

    /// <summary>Sends what was written into a socket's buffer, or from another socket, if it is of another path of a client.</summary>
    public void Send(DatagramSocket socket, Span<byte> buffer, int length, in DatagramInfo info)
    {
        Counters.DatagramsSent += info.Segments;
        Counters.BytesSent += length;
        if (_sockets.Count > 1 && SocketOf(info.Local) is { } other && other != socket)
        {
            Span<byte> room = other.GetSendBuffer(length);
            if (room.Length < length)
            {
                // Lost, as in a network: probes of paths are sent again.
                return;
            }

            buffer[..length].CopyTo(room);
            socket = other;
        }

        DatagramAddress from = _acceptor is null ? default : Addresses.ToDatagram(info.Local);
        socket.Send(length, info.SegmentSize, Addresses.ToDatagram(info.Remote), from, (DatagramEcn)info.Ecn);
    }

    /// <summary>A connection has nothing more to send now.</summary>
    public void OnSent(QuicTransportConnection connection, long now)
    {
        connection.IsQueued = false;
        QuicConnection quic = connection.Connection;
        connection.Tally.Update(quic, Counters);
        if (quic.IsClosed)
        {
            Remove(connection);
            return;
        }

        connection.ChargeMemory();
        SetTimer(connection, now);
    }

    /// <summary>The end of a connection was reported to its handler.</summary>
    public void OnEnded(QuicTransportConnection connection, in CloseReason reason)
    {
        Counters.Failed += reason.Source == CloseSource.LocalError ? 1 : 0;
        Counters.TimedOut += reason.Source == CloseSource.Timeout ? 1 : 0;
        Counters.HandshakesFailed += connection.Connection.Handshake.IsComplete ? 0 : 1;
        if (connection.Slot >= 0)
        {
            Counters.Connections--;
            Enqueue(connection);
            CompleteDrain();
        }
    }

    /// <summary>A connection begins. It may have ended already, and then has only to say so.</summary>
    public void Register(QuicTransportConnection connection, QuicConnection quic)
    {
        connection.Link(quic);
        _slots.Add(connection);
        Counters.Accepted++;
        Counters.Connections += connection.IsClosed ? 0 : 1;
        Enqueue(connection);
    }

    /// <summary>
    /// New connections are refused, and handlers are asked to end theirs. On another thread if the reactor has ended: nothing is left then
    /// but what it could not end.
    /// </summary>
    /// <param name="stop">The stop's number, from 1 on.</param>
    /// <param name="drained">Completes when no connection is open.</param>
    public void BeginStop(int stop, TaskCompletionSource drained)
    {
        if (!Reactor.IsReactorThread)
        {
            drained.TrySetResult();
            return;
        }

        _drained = drained;
        LastStop = stop;
        if (!IsStopping)
        {
            IsStopping = true;
            foreach (QuicTransportConnection connection in _slots.All)
            {
                if (connection is QuicServerConnection { IsClosed: false } open)
                {
                    open.BeginDrain(stop);
                    Enqueue(open);
                }
            }
        }

        CompleteDrain();
    }

    /// <summary>New connections are accepted again. Those that were asked to end still do. Threads as of <see cref="BeginStop"/>.</summary>
    public void Resume()
    {
        if (Reactor.IsReactorThread)
        {
            IsStopping = _sockets.Count == 0;
        }
    }

    /// <summary>Closes what a stop, or one before it, has asked to end. Threads as of <see cref="BeginStop"/>.</summary>
    public void CloseDraining(int stop, long code)
    {
        if (Reactor.IsReactorThread)
        {
            _slots.CloseDraining(stop, code);
        }
    }

    /// <summary>
    /// Closes what is open, and then the sockets: when all connections have said so, which needs the room of the socket. Threads as of
    /// <see cref="BeginStop"/>.
    /// </summary>
    public void Stop(long code)
    {
        if (!Reactor.IsReactorThread)
        {
            Stopped.TrySetResult();
            return;
        }

        foreach (QuicTransportConnection connection in _slots.All)
        {
            connection.Close(code, "");
        }

        _isClosing = true;
        SendLast();
    }

    /// <summary>Closes the sockets, also if there was no room for the last words. Threads as of <see cref="BeginStop"/>.</summary>
    public void EndStop()
    {
        if (!Reactor.IsReactorThread)
        {
            return;
        }

        Abort();
        if (_sockets.Count == 0)
        {
            Dispose();
        }

        foreach (DatagramSocket socket in _sockets.ToArray())
        {
            socket.Close();
        }
    }

    private void SendLast()
    {
        if (_sender.SendLast())
        {
            EndStop();
        }
    }

    /// <summary>Gives back what it has: after the last socket has closed.</summary>
    public void Dispose()
    {
        if (_isDisposed)
        {
            return;
        }

        _isDisposed = true;
        Reactor.Loop.Timers.Remove(this);
        Reactor.MemoryTrimmer.Remove(this);
        Reactor.Admission.MemoryHolders.Remove(this);
        _blocks.Dispose();
        (_cryptography as IDisposable)?.Dispose();
        CompleteDrain();
        CountKept(0);
    }

    /// <summary>Accounts of connections that are gone stay open for now (1), or are closed (-1).</summary>
    public void CountKept(int change)
    {
        _kept += change;
        if (_isDisposed && _kept == 0)
        {
            Stopped.TrySetResult();
        }
    }

    private void Receive(DatagramSocket socket, Span<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn, long now)
    {
        Counters.DatagramsReceived++;
        if (_foreign is not null && IdRule.EndpointOf(datagram) is int index && index != IdRule.Index)
        {
            Counters.HandedOver++;
            Counters.HandOversDropped += _foreign.TryAdd(index, datagram, from, to, ecn) ? 0 : 1;
            return;
        }

        _delivery.Deliver(socket, datagram, from, to, ecn, now);
    }

    private void DeferSend()
    {
        if (!_isSendDeferred)
        {
            _isSendDeferred = true;
            Reactor.Defer(SendDeferred, this);
        }
    }

    /// <summary>The deferred call has come.</summary>
    public void OnDeferred() => _isSendDeferred = false;

    private long DeadlineNs(QuicTransportConnection connection, long now) => connection.DeadlineMs == TimeLimit.Never
        ? QuicClock.Never
        : now + (Math.Max(1, connection.DeadlineMs - Reactor.NowMs) * QuicClock.Millisecond);

    private void SetTimer(QuicTransportConnection connection, long now)
    {
        long at = Math.Min(connection.Connection.NextTimeout, DeadlineNs(connection, now));
        if (at != QuicClock.Never)
        {
            _timers.Set(connection, at, now);
        }
    }

    private void Remove(QuicTransportConnection connection)
    {
        Endpoint.Remove(connection.Connection);
        _timers.Cancel(connection);
        _slots.Remove(connection);
        connection.IsQueued = false;
        connection.OnRemoved();
    }

    /// <summary>Forgets all connections without a word; for tests too, as a process that is killed.</summary>
    public void Abort()
    {
        Endpoint.Abort();
        foreach (QuicTransportConnection connection in _slots.All)
        {
            Remove(connection);
        }
    }

    private void CompleteDrain()
    {
        if ((IsStopping && Counters.Connections == 0) || _isDisposed)
        {
            _drained?.TrySetResult();
        }
    }
}
