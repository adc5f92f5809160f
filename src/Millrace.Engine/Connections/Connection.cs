using System.Diagnostics;
using System.IO.Pipelines;
using System.Net;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Accounting;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;
using Millrace.Engine.Pipes;

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
public sealed class Connection : IClientConnection
{
    // Who owns what:
    //   Reactor, Slot                      immutable, any thread
    //   Descriptor                         reactor; during a lease of DirectSender it stays open
    //   Receiver, Reader                   reactor; received bytes are the backend's during the dispatch, then copied if not consumed
    //   Writer, Sender, FileReader         reactor; the batch in flight, or read into, is the kernel's until the completion
    //   DirectSender                       any thread, CAS
    //   all else                           reactor

    /// <summary>This object, and those of its members up to the handler's: they are allocated with it and so adjacent.</summary>
    private const int PrefetchedBytes = 376 + 608;

    internal readonly SocketReceiver Receiver;
    internal readonly InputReader Reader;
    internal readonly OutputWriter Writer;
    internal readonly SocketSender Sender;
    internal readonly ConnectionTimers Timers;
    internal readonly FilterChain Filters;
    internal readonly ConnectionEnding Ending;
    internal readonly HandlerRunner Handler;
    internal readonly ConnectionHoldings Holdings;
    internal readonly ConnectionEndPoints EndPoints;
    internal readonly DirectSender DirectSender;

    private PrefetchSet _prefetch;
    private OutputFileReader? _fileReader;
    private ListenerContext? _listener;

    internal Connection(Reactor reactor, int slot, uint generation)
    {
        Reactor = reactor;
        Slot = slot;
        Generation = generation;
        Receiver = new SocketReceiver(this);
        Reader = new InputReader(this);
        Writer = new OutputWriter(this);
        Sender = new SocketSender(this);
        Timers = new ConnectionTimers(this);
        Filters = new FilterChain(this);
        Ending = new ConnectionEnding(this);
        Handler = new HandlerRunner(this);
        Holdings = new ConnectionHoldings(reactor);
        EndPoints = new ConnectionEndPoints(this);
        DirectSender = new DirectSender(this);
        Reset();
    }

    /// <summary>The reactor that owns the connection. Any thread.</summary>
    public Reactor Reactor { get; }

    /// <summary>
    /// The peer's address, available also after a reset by the peer; null for an unnamed unix socket (the usual case for clients) and after
    /// the connection is closed.
    /// </summary>
    public EndPoint? RemoteEndPoint => EndPoints.Remote;

    /// <summary>The address the peer connected to, or the local one of an outbound connection; null for an unnamed unix socket.</summary>
    public EndPoint? LocalEndPoint => EndPoints.Local;

    /// <summary>Lets other threads abort this connection, and never a later one in the same slot.</summary>
    public AbortHandle AbortHandle
    {
        get
        {
            AssertUsable();
            return new AbortHandle(this, Generation);
        }
    }

    /// <summary>
    /// The received bytes that were not consumed, contiguous. Valid until the handler's next await or <see cref="Consume"/>: read it again
    /// after either.
    /// </summary>
    public ReadOnlySpan<byte> Input
    {
        get
        {
            AssertUsable();
            return Reader.Buffer.Bytes;
        }
    }

    /// <summary>Bytes written and not yet taken by the kernel, flushed or not.</summary>
    public long UnsentBytes
    {
        get
        {
            Handler.AssertRunning();
            return Writer.UnsentBytes;
        }
    }

    internal int Slot { get; }

    /// <summary>Counts the peers that the slot has served; distinguishes a late completion for an earlier one.</summary>
    internal uint Generation { get; private set; }

    internal ConnectionPhase Phase { get; private set; }

    /// <summary>The socket's descriptor, owned by the connection; -1 after it is closed.</summary>
    internal int Descriptor { get; private set; } = -1;

    internal ListenerContext Listener => _listener!;

    /// <summary>Operations whose terminal completion has not come.</summary>
    internal int OperationsInFlight { get; set; }

    internal FilePageSender FilePages => Sender.Pages;

    internal OutputFileReader FileReader => _fileReader ??= new OutputFileReader(this);

    internal bool IsReadingFile => _fileReader is { IsReading: true };

    internal Backend Backend => Reactor.Backend;

    internal Limits Limits => Reactor.Limits;

    internal bool IsOpen => Phase is > ConnectionPhase.Free and < ConnectionPhase.Closed;

    /// <summary>Whether it waits for a next request with nothing unsent: clients expect that such a connection may close.</summary>
    internal bool IsIdle => Handler.IsBetweenRequests && Sender.IsIdle && Writer.IsEmpty;

    internal bool IsOf(ClientAccount account) => Holdings.AreOf(account) && Phase < ConnectionPhase.Closing;

    /// <summary>Bytes written, less those retracted. Once the output is lost, only what had reached the kernel.</summary>
    internal long WrittenBytes => Sender.WrittenBytes;

    /// <summary>
    /// Bytes of <see cref="WrittenBytes"/> that the kernel has taken. Exact without filters; for a truncated send that a filter rewrote,
    /// the proportional share. Bytes sent by another thread (<see cref="DirectSender"/>) are not included.
    /// </summary>
    internal long TransferredBytes => Sender.TransferredBytes;

    /// <summary>Notified of output progress until the connection is gone; null for none, which costs one null check per send.</summary>
    internal IOutputObserver? Observer
    {
        get => Sender.Observer;
        set => Sender.Observer = value;
    }

    /// <inheritdoc cref="ConnectionHoldings.IsToBeRefused"/>
    internal bool IsToBeRefused => Holdings.IsToBeRefused;

    /// <summary>
    /// A duplicate descriptor of the socket. It is disposed of before the first is closed: otherwise the close would reach neither the peer
    /// nor an epoll instance that holds the duplicate.
    /// </summary>
    internal IDisposable? Duplicate { get; set; }

    /// <summary>
    /// Waits until <see cref="Input"/> holds bytes that it did not hold when the last wait ended; completes at once if it does already. One
    /// wait at a time.
    /// </summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<ReadOutcome> ReadAsync() => Reader.ReadAsync(idle: false);

    /// <summary>
    /// As <see cref="ReadAsync"/>, for the pause between two requests: with <see cref="Input"/> empty it also ends with
    /// <see cref="ReadOutcome.Draining"/> when the group stops.
    /// </summary>
    public ValueTask<ReadOutcome> ReadIdleAsync() => Reader.ReadAsync(idle: true);

    /// <summary>Drops bytes from the front of <see cref="Input"/>.</summary>
    public void Consume(int count) => Reader.Consume(count);

    /// <summary>
    /// Ends waits for input with <see cref="ReadOutcome.TimedOut"/> after <paramref name="fromNow"/> (up to 64 ms late), whatever arrives
    /// until then; <see cref="Timeout.InfiniteTimeSpan"/> removes the deadline.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    public void SetReadDeadline(TimeSpan fromNow)
    {
        AssertUsable();
        TimeLimit.Require(fromNow);
        Timers.SetReadDeadline(TimeLimit.After(Reactor.NowMs, fromNow));
    }

    /// <summary>As above, at a time of the reactor's clock (<see cref="Reactor.NowMs"/>).</summary>
    internal void SetReadDeadline(long atMs) => Timers.SetReadDeadline(atMs);

    /// <summary>
    /// Ends waits for input with <see cref="ReadOutcome.TimedOut"/> when the peer is silent for the window, when its average rate is below
    /// the minimum (0: none) for long enough to use the window up, or when <paramref name="most"/> has passed
    /// (<see cref="Timeout.InfiniteTimeSpan"/>: no limit). Holds until a read deadline or another rate is set.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The rate or a time is negative, or the window is not positive.</exception>
    public void SetReadRate(int bytesPerSecond, TimeSpan window, TimeSpan most)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytesPerSecond);
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(window, TimeSpan.Zero);
        TimeLimit.Require(most);
        SetReadDeadline(most);
        Timers.SetReadRate(bytesPerSecond, window);
    }

    /// <summary>
    /// Called by a handler that has nothing to do, before it returns, so that the connection does not end with it. What was written is
    /// sent, and the next bytes run the listener's handler again, which finds them in <see cref="Input"/>. The connection ends in order
    /// when its peer ends it, when the group stops, or when <paramref name="most"/> has passed.
    /// </summary>
    /// <param name="most">
    /// How long it may be idle (up to 64 ms late); <see cref="Timeout.InfiniteTimeSpan"/>: as long as its peer keeps it open.
    /// </param>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    /// <exception cref="InvalidOperationException">
    /// There is input that was not consumed, or the caller is not on the reactor's thread.
    /// </exception>
    public void WaitIdle(TimeSpan most)
    {
        TimeLimit.Require(most);
        WaitIdleUntil(TimeLimit.After(Reactor.NowMs, most));
    }

    /// <summary>As above, until a time of the reactor's clock.</summary>
    internal void WaitIdleUntil(long atMs) => Handler.WaitIdle(atMs);

    /// <summary>
    /// Space for at least <paramref name="sizeHint"/> bytes (0: any size) after what was written; <see cref="Advance"/> commits them. Valid
    /// until the next call that writes or flushes.
    /// </summary>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        return Writer.Batch().GetSpan(sizeHint);
    }

    /// <summary>Commits bytes that were written to <see cref="GetSpan"/>.</summary>
    public void Advance(int count) => Writer.Advance(count);

    /// <summary>Writes a copy of the bytes.</summary>
    public void Write(ReadOnlySpan<byte> bytes) => Writer.Batch().Write(bytes);

    /// <summary>
    /// Writes the caller's memory without a copy: it must be native or pinned, and stay unchanged until a later <see cref="FlushAsync()"/>
    /// has completed (one with a limit may complete earlier). Up to some kilobytes a copy is cheaper than a second part of a send
    /// (measured: 0.13 against 0.5 us at 10 KB).
    /// </summary>
    public unsafe void WriteReference(byte* memory, int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        Writer.Batch().WriteReference(memory, count);
    }

    /// <summary>
    /// As <see cref="WriteReference"/>, for memory that maps a file, from <paramref name="offset"/> of that file on. A socket takes large
    /// parts by reference, so the pages must stay unchanged until the peer has acknowledged them: nothing may write to that file any more.
    /// It may be unmapped and closed once the flush has completed.
    /// </summary>
    internal unsafe void WritePages(byte* memory, int count, int file, long offset) => Writer.WritePages(memory, count, file, offset);

    /// <summary>
    /// Takes back the last bytes that were written and not flushed, such as a head whose file turned out to be a different one. Their
    /// memory stays unchanged until the next flush has completed, so it may be written again by reference. No effect once the output is
    /// lost.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">Fewer bytes were written since the last flush.</exception>
    public void Retract(int count) => Writer.Retract(count);

    /// <summary>
    /// Reads up to <paramref name="bytesMax"/> bytes of a file at <paramref name="offset"/> directly after what was written, as an
    /// operation on the reactor's ring, and returns how many were read (0: the end of the file). They are sent with the next flush. Until
    /// the read completes the output can be neither written nor flushed.
    /// </summary>
    /// <exception cref="IOException">
    /// The file cannot be read, or the output is lost; HResult is the error number.
    /// </exception>
    /// <exception cref="InvalidOperationException">Another read is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<int> ReadFileAsync(SafeFileHandle file, long offset, int bytesMax) => FileReader.ReadAsync(file, offset, bytesMax);

    /// <summary>As above, for a descriptor, which the caller keeps open until the read has completed.</summary>
    /// <exception cref="IOException">The file cannot be read, or the output is lost.</exception>
    /// <exception cref="InvalidOperationException">Another read is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<int> ReadFileAsync(int file, long offset, int bytesMax) => FileReader.ReadAsync(file, offset, bytesMax);

    /// <summary>
    /// Sends what was written, at the end of this event-loop iteration, together with what is written until then. Does not wait: while a
    /// send is in flight the bytes queue up (write-behind; see <see cref="UnsentBytes"/>).
    /// </summary>
    public void Flush()
    {
        AssertUsable();
        Writer.RequestFlush();
    }

    /// <summary>As <see cref="Flush"/>, and waits until everything written so far is with the kernel. One wait at a time.</summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<FlushOutcome> FlushAsync() => FlushAsync(0);

    /// <summary>As <see cref="Flush"/>, and waits until at most this many bytes are unsent: a limit on write-behind.</summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<FlushOutcome> FlushAsync(long unsentBytesMax) => Writer.FlushAsync(unsentBytesMax);

    /// <inheritdoc cref="ConnectionHoldings.ChargeManaged"/>
    internal void ChargeManaged(long bytes) => Holdings.ChargeManaged(bytes);

    /// <inheritdoc cref="ConnectionHoldings.ChargeBlocks"/>
    internal void ChargeBlocks(long bytes) => Holdings.ChargeBlocks(bytes);

    /// <summary>
    /// Whether the descriptor of a file that was opened for one response may stay open. False when descriptors are short, the client holds
    /// too many, and no idle connection of another client can be closed instead. Paired with <see cref="ReturnFile"/>.
    /// </summary>
    internal bool TryHoldFile(int descriptor) => Holdings.TryHoldFile(descriptor);

    internal void ReturnFile() => Holdings.ReturnFile();

    /// <summary>
    /// The connection as <see cref="PipeReader"/> and <see cref="PipeWriter"/>, for handlers written for pipes. Use either these or the raw
    /// members for a direction, not both at once; <see cref="ReadFileAsync(int, long, int)"/> appends to what was written to the pipe. The
    /// pipes are bound to the reactor's thread. Completing them does not end the connection: that ends when the handler returns, after
    /// which the pipes throw. They do not report a stop, see <see cref="ReactorGroup.StopAsync"/>.
    /// </summary>
    public IDuplexPipe AsDuplexPipe()
    {
        AssertUsable();
        return new ConnectionPipe(this);
    }

    /// <summary>
    /// Stores the peer's address for later use, as the kernel forgets it with the socket. An IPv4 address of an IPv6 socket is unmapped;
    /// for an unnamed unix socket it is the listener's address.
    /// </summary>
    internal EndPoint? KeepRemoteEndPoint() => EndPoints.KeepRemote();

    ConnectionHoldings IClientConnection.Holdings => Holdings;

    EndPoint? IClientConnection.KeepRemoteEndPoint() => EndPoints.KeepRemote();

    /// <summary>Adds an object of the handler that these completions touch. It is held until the slot is free.</summary>
    internal void AddToPrefetch(object part, PrefetchRange range, CompletionKinds kinds)
    {
        Debug.Assert(_prefetch.Count < PrefetchSet.PartsMax);
        _prefetch.Add(part, range, kinds);
    }

    internal void Prefetch() => PrefetchSet.Prefetch(this, new PrefetchRange(PrefetchedBytes));

    /// <summary>Prefetches the registered parts. Reads this object, which was prefetched before.</summary>
    internal void PrefetchParts(CompletionKinds kinds) => _prefetch.Prefetch(kinds);

    /// <summary>
    /// Ends the connection at once with a reset; unsent output is dropped. Waits end with Reset or Closed. No effect after the end. For the
    /// handler; other threads use <see cref="AbortHandle"/>.
    /// </summary>
    public void Abort()
    {
        Reactor.AssertReactorThread();
        Ending.EndNow(withReset: true);
    }

    /// <summary>
    /// As <see cref="Abort"/>, but with a FIN: for a peer that has ended, or where a reset is not wanted. The kernel still sends what it
    /// has; a peer that is owed more may take a truncated response for a complete one.
    /// </summary>
    internal void Finish()
    {
        Reactor.AssertReactorThread();
        Ending.EndNow(withReset: false);
    }

    /// <summary>The reactor ends with an operation outstanding: the handler's wait for it fails.</summary>
    internal void Abandon() => _fileReader?.Abandon();

    /// <summary>Takes over a connected socket and runs a handler on it.</summary>
    internal void Open(int socket, ListenerContext listener, ConnectionHandler handler, ConnectionLease lease, ClientAccount account)
    {
        Debug.Assert(OperationsInFlight == 0 && Descriptor == -1);
        Descriptor = socket;
        _listener = listener;
        Holdings.Open(account, lease);
        DirectSender.Open();
        MoveTo(ConnectionPhase.Serving);
        Receiver.Resume();
        Handler.Run(handler, listener.Filters);
    }

    /// <summary>Moves towards the end as far as possible now. Called after each event that may allow a step.</summary>
    internal void Progress()
    {
        if (Phase == ConnectionPhase.Flushing && Writer.IsDrained && Sender.IsIdle && !Filters.IsSendRequested)
        {
            Ending.BeginLinger();
        }

        if (Phase == ConnectionPhase.Lingering && Receiver.End != ReceiveEnd.None)
        {
            Ending.BeginClose();
        }

        if (Phase == ConnectionPhase.Closing && Ending.IsSocketFree && DirectSender.TryEnd())
        {
            Close();
        }

        if (Phase == ConnectionPhase.Closed && !Handler.IsRunning && OperationsInFlight == 0)
        {
            Recycle();
        }
    }

    internal void MoveTo(ConnectionPhase phase)
    {
        Debug.Assert(Phase.MayBecome(phase), $"A connection was moved from {Phase} to {phase}.");
        Listener.Start?.OnPhaseEnd(this);
        Phase = phase;
    }

    internal OperationToken Token(OperationKind kind) => new(kind, Generation, Slot);

    /// <summary>Throws on other threads, and when the handler has returned.</summary>
    internal void AssertUsable()
    {
        Reactor.AssertReactorThread();
        Handler.AssertRunning();
    }

    private void Close()
    {
        Ending.CloseSocket();
        Descriptor = -1;
        MoveTo(ConnectionPhase.Closed);
        Reactor.Timers.Cancel(Slot);
        Reader.Break();
        if (Phase == ConnectionPhase.Closed)
        {
            // The end of the handler's wait did not recycle the slot.
            Sender.Break();
        }

        if (Phase == ConnectionPhase.Closed)
        {
            Observer?.OnClosed(this);
        }
    }

    private void Recycle()
    {
        Sender.Drop();
        Observer?.OnGone(this);
        Filters.Release();
        Reader.Discard();
        Holdings.Close();
        Generation = (Generation + 1) & OperationToken.GenerationMask;
        MoveTo(ConnectionPhase.Free);
        Reset();
        Reactor.Admission.Release(this, Holdings.Lease);
    }

    /// <summary>The state of a new peer.</summary>
    private void Reset()
    {
        Debug.Assert(OperationsInFlight == 0 && Descriptor == -1 && !Handler.IsRunning);
        Receiver.Reset();
        Reader.Reset();
        Writer.Reset();
        Sender.Reset();
        Timers.Reset();
        Filters.Reset();
        Ending.Reset();
        Handler.Reset();
        EndPoints.Reset();
        _fileReader?.Reset();
        _prefetch.Clear();
        _listener = null;
    }
}
