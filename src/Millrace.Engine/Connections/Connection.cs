using System.Diagnostics;
using System.Net;
using Millrace.Engine.Accounting;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <summary>
/// One stream connection, inbound or outbound, served by a handler. All members except <see cref="Reactor"/> belong to the reactor's
/// thread: handlers run there and every await of a connection completes there inline. A handler that awaited something else returns to the
/// thread with <see cref="Reactor.SwitchTo"/>. When the handler returns, its output is sent and the connection closes in order; when it
/// throws, the connection is reset.
/// </summary>
/// <remarks>
/// Ownership: the object belongs to a slot and serves one peer after another. It is recycled only when its handler has returned and no
/// operation is in flight, so the kernel holds none of its memory.
/// <para>
/// A handler must not keep the connection after it returns. While no handler runs, the members throw
/// <see cref="InvalidOperationException"/>; once the slot serves the next peer they act on that peer's connection, because stale callers
/// cannot be detected. The pipes (<see cref="AsDuplexPipe"/>) and the <see cref="AbortHandle"/> are bound to one peer and may be kept.
/// </para>
/// </remarks>
public sealed partial class Connection
{
    private readonly Action _handlerEnded;
    private int _socket = -1;
    private int _operationsInFlight;
    private Task? _handler;
    private ListenerContext? _listener;
    private ConnectionLease _lease;

    internal Connection(Reactor reactor, int slot, uint generation)
    {
        Reactor = reactor;
        Slot = slot;
        Generation = generation;
        _handlerEnded = OnHandlerEnded;
    }

    /// <summary>The reactor that owns the connection. Any thread.</summary>
    public Reactor Reactor { get; }

    /// <summary>
    /// The peer's address, available also after a reset by the peer; null for an unnamed unix socket (the usual case for clients) and after
    /// the connection is closed.
    /// </summary>
    public EndPoint? RemoteEndPoint => !IsOpenHere() ? null : _remote ?? SocketEndPoint.OfPeer(_socket, _listener!.EndPoint);

    /// <summary>
    /// The address the peer connected to, or the local address of an outbound connection; null for an unnamed unix socket.
    /// </summary>
    public EndPoint? LocalEndPoint => !IsOpenHere() ? null
        : _local ?? (_listener!.IsOneAddress ? _listener.EndPoint : SocketEndPoint.OfSocket(_socket, _listener.EndPoint));

    internal int Slot { get; }

    /// <summary>The socket's descriptor, owned by the connection; -1 after it is closed.</summary>
    internal int Descriptor => _socket;

    /// <summary>Counts the peers that the slot has served; distinguishes a late completion for an earlier one.</summary>
    internal uint Generation { get; private set; }

    internal ConnectionPhase Phase { get; private set; }

    private bool IsOpen => Phase is > ConnectionPhase.Free and < ConnectionPhase.Closed;

    private Backend Backend => Reactor.Backend;

    private BlockPools Pools => Reactor.Pools;

    private Limits Limits => Reactor.Limits;

    /// <summary>Lets other threads abort this connection, and never a later one in the same slot.</summary>
    public AbortHandle AbortHandle
    {
        get
        {
            Reactor.AssertReactorThread();
            AssertServing();
            return new AbortHandle(this, Generation);
        }
    }

    /// <summary>Takes over a connected socket and runs a handler on it.</summary>
    internal void Open(int socket, ListenerContext listener, ConnectionHandler handler, ConnectionLease lease, ClientAccount account)
    {
        Debug.Assert(Phase == ConnectionPhase.Free && _operationsInFlight == 0 && _socket == -1);
        Debug.Assert(_filling is null && _sending is null && !_read.IsPending && !IsFlushPending && _input.Count == 0);
        _socket = socket;
        _listener = listener;
        _lease = lease;
        OpenHolding(account);
        OpenEnding();
        OpenDirectSend();
        OpenPrefetch();
        Phase = ConnectionPhase.Serving;
        OpenInput();
        OpenOutput();
        OpenDeadlines();
        OpenFilters();
        OpenPeer();
        ResumeReceive();
        RunHandler(handler, listener.Filters);
    }

    /// <summary>The state as text, for diagnosing a connection that does not end.</summary>
    internal string Describe() =>
        $"slot {Slot}: {Phase}, {_operationsInFlight} operations in flight, {_receivedBytes} bytes received and {_sentBytes} sent; "
        + $"input {_receiveEnd}, {_inputEnd} with {_input.Count} bytes, read pending: {_read.IsPending}, "
        + $"receive {(_receiveArmed ? "armed" : _isStarved ? "waits for a buffer" : "idle")}{(_receiveCancelled ? " and cancelled" : "")}; "
        + $"send in flight: {_sendInFlight} of {_sending?.Bytes} bytes, flush pending: {IsFlushPending}, handler: {_handler?.Status}";

    /// <summary>Throws when the handler has returned.</summary>
    private void AssertServing()
    {
        if (_handler is null)
        {
            ThrowNotServing();
        }
    }

    /// <summary>Throws when the handler of this generation has returned.</summary>
    internal void AssertServing(uint generation)
    {
        if (!IsServing(generation))
        {
            ThrowNotServing();
        }
    }

    /// <summary>Whether the handler of this generation has not returned.</summary>
    internal bool IsServing(uint generation) => _handler is not null && Generation == generation;

    private static void ThrowNotServing() =>
        throw new InvalidOperationException("The handler of this connection has returned; the connection can no longer be used.");

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
        Reactor.AssertReactorThread();
        return IsOpen;
    }

    private OperationToken Token(OperationKind kind) => new(kind, Generation, Slot);

    private void RunHandler(ConnectionHandler handler, Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
    {
        // A placeholder while the handler starts: without it, an end in its synchronous part would free the slot under it.
        _handler = Task.CompletedTask;
        ExecutionContext? callers = Reactor.LeaveContext();
        try
        {
            _handler = filters is not null && IsHeldBy(filters)
                ? Task.CompletedTask
                : handler(this) ?? throw new InvalidOperationException("The connection handler returned no task.");
        }
#pragma warning disable CA1031 // A handler's exception ends its connection, never the reactor.
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
        if (!Reactor.IsReactorThread)
        {
            Reactor.Post(static state => ((Connection)state!).OnHandlerEnded(), this);
            return;
        }

        Task handler = _handler!;
        _handler = null;
        if (handler.IsFaulted && Phase == ConnectionPhase.Serving && !_outputBroken && _inputEnd != ReceiveEnd.Reset)
        {
            // A failure that follows from a reset, by this side or by the peer, is not logged.
            NoteFailure(handler.Exception!.InnerException ?? handler.Exception);
        }

        if (!handler.IsCompletedSuccessfully)
        {
            Abort();
        }
        else if (Phase == ConnectionPhase.Serving)
        {
            BeginIdleOrEnd();
        }

        Progress();
    }
}
