using System.Net;
using Millrace.Engine;
using Millrace.Engine.Loop;
using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;

namespace Millrace.QuicTransport;

/// <summary>
/// A QUIC connection on its reactor, of a server or a client. It forwards the connection's events to the layer above, and what that throws
/// ends the connection, not the reactor. Its <see cref="QuicReactor"/> drives it and owns its place in queues. Reactor thread only, except
/// <see cref="Reactor"/>.
/// </summary>
internal abstract class QuicTransportConnection : IQuicConnectionHandler
{
    private PathAddress _remoteAddress;
    private PathAddress _localAddress;
    private IPEndPoint? _remote;
    private IPEndPoint? _local;
    private QuicConnection? _connection;
    private ConnectionTally _tally;
    private long _deadlineMs = TimeLimit.Never;

    private protected QuicTransportConnection(QuicReactor owner, in PathAddress remote, in PathAddress local)
    {
        Owner = owner;
        _remoteAddress = remote;
        _localAddress = local;
    }

    /// <summary>The reactor that owns the connection. Any thread.</summary>
    public Reactor Reactor => Owner.Reactor;

    /// <summary>The connection, from the first event on. Its Tag is the transport's.</summary>
    public QuicConnection Connection => _connection ?? throw new InvalidOperationException("The connection does not exist yet.");

    /// <summary>The peer's address. It changes when the peer migrates; the object is the same as long as the address is.</summary>
    public IPEndPoint RemoteEndPoint
    {
        get
        {
            if (_connection is { IsEnding: false } connection && connection.Paths.Active.Remote != _remoteAddress)
            {
                _remoteAddress = connection.Paths.Active.Remote;
                _remote = null;
            }

            return _remote ??= Addresses.ToEndPoint(_remoteAddress);
        }
    }

    /// <summary>The address that the peer sends to.</summary>
    public IPEndPoint LocalEndPoint
    {
        get
        {
            if (_connection is { IsEnding: false } connection && connection.Paths.Active.Local != _localAddress)
            {
                _localAddress = connection.Paths.Active.Local;
                _local = null;
            }

            return _local ??= Addresses.ToEndPoint(_localAddress);
        }
    }

    /// <summary>The end was reported: streams must not be used.</summary>
    public bool IsClosed { get; private set; }

    /// <summary>The connection exists: it has been linked to this object.</summary>
    internal bool IsLinked => _connection is not null;

    internal QuicReactor Owner { get; }

    /// <summary>Its index at the reactor and in its timers; -1: none (yet).</summary>
    internal int Slot { get; set; } = -1;

    /// <summary>It is in the queue of those that may have something to send.</summary>
    internal bool IsQueued { get; set; }

    /// <summary>The time for which its timer is set, no later than the next one needed; <see cref="QuicClock.Never"/>: none.</summary>
    internal long TimerAt { get; set; } = QuicClock.Never;

    /// <summary>What the counters have of it.</summary>
    internal ref ConnectionTally Tally => ref _tally;

    /// <summary>In milliseconds of the reactor's clock.</summary>
    internal long DeadlineMs => _deadlineMs;

    private protected abstract IQuicConnectionHandler? Handler { get; }

    /// <summary>
    /// Sends at the end of this iteration what was written to streams outside of the connection's own callbacks, such as after a file was
    /// read.
    /// </summary>
    public void ScheduleSend()
    {
        if (!IsQueued && Slot >= 0)
        {
            Reactor.AssertReactorThread();
            Owner.Enqueue(this);
        }
    }

    /// <summary>
    /// Sets the handler's only timer, to a time of the reactor's clock (<see cref="Reactor.NowMs"/>); <see cref="TimeLimit.Never"/>
    /// removes it. It comes a few milliseconds late.
    /// </summary>
    public void SetDeadline(long atMs)
    {
        if (atMs != _deadlineMs)
        {
            _deadlineMs = atMs;
            if (Slot >= 0 && atMs != TimeLimit.Never)
            {
                Owner.SetDeadlineTimer(this);
            }
        }
    }

    /// <summary>
    /// Ends the connection with a code of the application. What streams have not sent is lost. The handler's OnClosed follows, within the
    /// call unless it comes from a callback.
    /// </summary>
    public void Close(long code, string reason)
    {
        Reactor.AssertReactorThread();
        if (_connection is { IsEnding: false } connection)
        {
            connection.Close(code, reason, Owner.Now);
            ScheduleSend();
        }
    }

    void IQuicConnectionHandler.OnHandshakeComplete(QuicConnection connection)
    {
        Link(connection);
        Owner.Counters.Handshakes++;
        try
        {
            OnHandshakeComplete();
        }
#pragma warning disable CA1031 // A handler's exception ends its connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFailure(error);
        }
    }

    void IQuicConnectionHandler.OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        try
        {
            Handler?.OnStream(connection, stream, events);
        }
#pragma warning disable CA1031 // A handler's exception ends its connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFailure(error);
        }
    }

    void IQuicConnectionHandler.OnStreamsAvailable(QuicConnection connection)
    {
        try
        {
            Handler?.OnStreamsAvailable(connection);
        }
#pragma warning disable CA1031 // A handler's exception ends its connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFailure(error);
        }
    }

    void IQuicConnectionHandler.OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
        try
        {
            Handler?.OnNewToken(connection, token);
        }
#pragma warning disable CA1031 // A handler's exception ends its connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFailure(error);
        }
    }

    void IQuicConnectionHandler.OnClosed(QuicConnection connection, in CloseReason reason)
    {
        Link(connection);
        IsClosed = true;
        _deadlineMs = TimeLimit.Never;
        Owner.OnEnded(this, reason);
        try
        {
            Handler?.OnClosed(connection, reason);
            OnHandlerClosed();
        }
#pragma warning disable CA1031 // It is over already.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Owner.Log.HandlerFailed(error);
        }
    }

    /// <summary>The handler's deadline, if it has come.</summary>
    internal void RunDeadline()
    {
        if (_deadlineMs > Reactor.NowMs)
        {
            return;
        }

        _deadlineMs = TimeLimit.Never;
        try
        {
            OnDeadline();
        }
#pragma warning disable CA1031 // A handler's exception ends its connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFailure(error);
        }
    }

    /// <summary>The time of the connection's own timer has come.</summary>
    internal void OnTimeout(long now)
    {
        try
        {
            Connection.OnTimeout(now);
        }
#pragma warning disable CA1031 // What happens within one connection ends it, and not the reactor.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFault(error);
        }
    }

    /// <summary>Runs an action that was posted to the reactor: an exception ends the connection, and not the reactor.</summary>
    internal void Run(Action<object?> action, object? state)
    {
        try
        {
            action(state);
        }
#pragma warning disable CA1031 // What happens within one connection ends it, and not the reactor.
        catch (Exception error)
#pragma warning restore CA1031
        {
            OnFault(error);
        }
    }

    /// <summary>An exception within the connection: it closes; at the next one without a word.</summary>
    internal void OnFault(Exception error)
    {
        if (Connection.IsEnding)
        {
            Owner.Log.HandlerFailed(error);
            Connection.End(new CloseReason(CloseSource.LocalError, false, (long)TransportErrorCode.InternalError, 0, ""));
            ScheduleSend();
            return;
        }

        OnFailure(error);
    }

    internal void Link(QuicConnection connection)
    {
        _connection = connection;
        connection.Tag = this;
    }

    /// <summary>It is gone from its reactor.</summary>
    internal virtual void OnRemoved()
    {
    }

    /// <summary>Charges what the connection holds now for its streams, and for packets in flight.</summary>
    internal void ChargeMemory() => ChargeState(Connection.Streams.HeldBytes + Connection.Recovery.HeldBytes);

    /// <summary>Gives back memory that was needed for more packets than are in flight now.</summary>
    internal void Trim()
    {
        if (Connection.Recovery.TryTrim())
        {
            ChargeMemory();
        }
    }

    /// <summary>Charges what streams and packets hold now, which is given, and the handshake.</summary>
    private protected virtual void ChargeState(long bytes)
    {
    }

    /// <summary>The handler knows that it is over.</summary>
    private protected virtual void OnHandlerClosed()
    {
    }

    private protected abstract void OnHandshakeComplete();

    private protected abstract void OnDeadline();

    private protected void OnFailure(Exception error)
    {
        Owner.Log.HandlerFailed(error);
        Connection.Fail(new QuicError(TransportErrorCode.InternalError, ""), Owner.Now);
        ScheduleSend();
    }
}
