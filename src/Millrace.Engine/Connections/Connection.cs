using System.Diagnostics;
using System.Net;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Listening;
using Millrace.Engine.Stages;

namespace Millrace.Engine;

/// <summary>
/// One stream connection, accepted or made here, given to a handler. Everything but <see cref="Reactor"/>
/// belongs to the reactor's thread: handlers run there, every await of a connection completes there inline, and a handler that awaited
/// something foreign comes home with <see cref="Reactor.SwitchTo"/>. When the handler returns, what it wrote is sent and
/// the connection ends in order; when it throws, the connection is reset.
/// </summary>
/// <remarks>
/// Ownership: the object lives in its slot for good and serves one peer after the other. It is recycled only when its handler
/// has returned and the kernel holds none of its memory (no operation in flight).
/// <para>
/// A handler that has returned is to forget it. While no handler runs on it, it refuses to be used, by an
/// <see cref="InvalidOperationException"/>; but from the next peer's on it is that peer's, and cannot tell who has kept it from whom it
/// serves. What may be kept, and means one peer for good, are its pipes (<see cref="AsDuplexPipe"/>) and its
/// <see cref="AbortHandle"/>.
/// </para>
/// </remarks>
public sealed partial class Connection
{
    private readonly Action _handlerEnded;
    private int _socket = -1;
    private int _operationsInFlight;
    private Task? _handler;
    private ListenerCore? _listener;
    private Ticket _ticket;

    internal Connection(Reactor reactor, int slot)
    {
        Reactor = reactor;
        Slot = slot;
        _handlerEnded = OnHandlerEnded;
    }

    /// <summary>The reactor that owns the connection. Any thread.</summary>
    public Reactor Reactor { get; }

    /// <summary>
    /// The peer's address, also when it has reset the connection already; null for a unix socket without a name, as clients' are, and once
    /// the connection is closed.
    /// </summary>
    public EndPoint? RemoteEndPoint => !IsOpenHere() ? null : _remote ?? SocketEndPoint.OfPeer(_socket, _listener!.EndPoint);

    /// <summary>The address the peer connected to, or the one that was connected from; null for a unix socket without a name.</summary>
    public EndPoint? LocalEndPoint => !IsOpenHere() ? null
        : _local ?? (_listener!.IsOneAddress ? _listener.EndPoint : SocketEndPoint.OfSocket(_socket, _listener.EndPoint));

    internal int Slot { get; }

    /// <summary>The socket's descriptor, the connection's own; -1 once it is closed.</summary>
    internal int Descriptor => _socket;

    /// <summary>Which of the slot's tenants this is.</summary>
    internal uint Generation { get; private set; }

    internal ConnectionPhase Phase { get; private set; }

    private bool IsOpen => Phase is > ConnectionPhase.Free and < ConnectionPhase.Closed;

    private Backend Backend => Reactor.Backend;

    private BlockPools Pools => Reactor.Pools;

    private Limits Limits => Reactor.Limits;

    /// <summary>Taken by a handler for others, who end this connection with it from any thread, and never a later one.</summary>
    public AbortHandle AbortHandle
    {
        get
        {
            Reactor.AssertHome();
            AssertTenant();
            return new AbortHandle(this, Generation);
        }
    }

    /// <summary>Takes over a connected socket and runs a handler on it.</summary>
    internal void Open(int socket, ListenerCore listener, ConnectionHandler handler, Ticket ticket)
    {
        Debug.Assert(Phase == ConnectionPhase.Free && _operationsInFlight == 0 && _socket == -1);
        Debug.Assert(_filling is null && _sending is null && !_read.IsPending && !IsFlushPending && _input.Count == 0);
        _socket = socket;
        _listener = listener;
        _ticket = ticket;
        OpenEnding();
        OpenLending();
        OpenFootprint();
        Phase = ConnectionPhase.Serving;
        OpenInput();
        OpenOutput();
        OpenDeadlines();
        OpenStages();
        OpenPeer();
        ResumeReceive();
        RunHandler(handler, listener.Stages);
    }

    /// <summary>For who wonders why it is still there.</summary>
    internal string Describe() =>
        $"slot {Slot}: {Phase}, {_operationsInFlight} operations in flight, {_receivedBytes} bytes received and {_sentBytes} sent; "
        + $"input {_receiveEnd}, {_inputEnd} with {_input.Count} bytes, read pending: {_read.IsPending}, "
        + $"receive {(_receiveArmed ? "armed" : _receiveParked ? "parked" : "idle")}{(_receiveCancelled ? " and cancelled" : "")}; "
        + $"send in flight: {_sendInFlight} of {_sending?.Bytes} bytes, flush pending: {IsFlushPending}, handler: {_handler?.Status}";

    /// <summary>A handler that has returned has no connection any more: its slot waits for the next peer, or serves it.</summary>
    private void AssertTenant()
    {
        if (_handler is null)
        {
            ThrowNoTenant();
        }
    }

    /// <summary>The same for who knows which of the slot's tenants is meant.</summary>
    internal void AssertTenant(uint generation)
    {
        if (!IsServing(generation))
        {
            ThrowNoTenant();
        }
    }

    /// <summary>Whether the handler of this tenant has not returned.</summary>
    internal bool IsServing(uint generation) => _handler is not null && Generation == generation;

    private static void ThrowNoTenant() =>
        throw new InvalidOperationException("The handler of this connection has returned; it can neither read nor write any more.");

    private void NoteFailure(Exception error)
    {
        if (error is OutOfMemoryException)
        {
            Reactor.NoteStarved();
        }
        else
        {
            Reactor.Log.HandlerFailed(error);
        }
    }

    private bool IsOpenHere()
    {
        Reactor.AssertHome();
        return IsOpen;
    }

    private OperationToken Token(OperationKind kind) => new(kind, Generation, Slot);

    private void RunHandler(ConnectionHandler handler, Func<Connection, IReadOnlyList<ConnectionStage>>? stages = null)
    {
        // While it runs it has not returned: what it does now must not give the slot away under it.
        _handler = Task.CompletedTask;
        ExecutionContext? callers = Reactor.LeaveContext();
        try
        {
            _handler = stages is not null && IsHeldBy(stages)
                ? Task.CompletedTask
                : handler(this) ?? throw new InvalidOperationException("The connection handler returned no task.");
        }
#pragma warning disable CA1031 // Whatever a handler throws is its connection's end, never the reactor's.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _handler = Task.FromException(error);
        }

        Reactor.ReturnTo(callers);
        if (_handler.IsCompleted)
        {
            OnHandlerEnded();
        }
        else
        {
            _handler.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_handlerEnded);
        }
    }

    private void OnHandlerEnded()
    {
        if (!Reactor.IsHome)
        {
            Reactor.Post(static state => ((Connection)state!).OnHandlerEnded(), this);
            return;
        }

        Task handler = _handler!;
        _handler = null;
        if (handler.IsFaulted && Phase == ConnectionPhase.Serving && !_outputBroken && _inputEnd != ReceiveEnd.Reset)
        {
            // One that fails because its connection was reset under it, by us or by the peer, is no news.
            NoteFailure(handler.Exception!.InnerException ?? handler.Exception);
        }

        if (!handler.IsCompletedSuccessfully)
        {
            Abort();
        }
        else if (Phase == ConnectionPhase.Serving)
        {
            RestOrEnd();
        }

        Progress();
    }
}
