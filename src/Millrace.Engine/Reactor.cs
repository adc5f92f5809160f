using System.Collections.Immutable;
using System.Net;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Accounting;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connecting;
using Millrace.Engine.Connections;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Diagnostics;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;
using Millrace.Engine.Operations;
using Millrace.Interop;
using Millrace.Interop.Threads;

namespace Millrace.Engine;

/// <summary>
/// One thread with its kernel queue and the connections that belong to both. A loop iteration runs posted actions, due timers and deferred
/// actions, sends what was flushed, enters the kernel once, and dispatches the completions, each of which runs its handler inline. Only the
/// reactor's thread touches what the reactor owns; other threads use <see cref="Post"/>.
/// </summary>
public sealed class Reactor
{
    // Who owns what:
    //   Loop.Mailbox              any thread
    //   Heartbeat, Counters       reactor; read by any thread
    //   CallbackOwner, Acceptors  reactor; read by the watchdog
    //   IsStalled                  watchdog; read by any thread
    //   all else                  reactor, while it runs
    private readonly Thread _thread;
    private readonly Func<Backend> _createBackend;
    private readonly CoreAffinity? _pins;
    private readonly string _group;
    private readonly LogRateLimiter _faultLogLimiter = new();
    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private long _faultsReported;

    internal volatile ICallbackOwner? CallbackOwner;

    /// <summary>Whether one callback has blocked the reactor for 100 ms or more.</summary>
    internal volatile bool IsStalled;

    /// <summary>Its <see cref="Limits.BufferBytes"/> is its share. The backend is created on the reactor's thread.</summary>
    internal Reactor(
        int index,
        Limits limits,
        EngineLog log,
        Func<Backend> createBackend,
        ConnectionLimiter? limiter = null,
        LoopHeartbeat? heartbeat = null,
        string group = EngineMeter.Name,
        CoreAffinity? pins = null,
        Action? onIdle = null)
    {
        Index = index;
        _group = group;
        Limits = limits;
        Log = log;
        Pools = new BlockPools(limits.BufferBytes, reservedBytes: limits.BufferBytes / 8);
        Batches = new OutputBatchPool(Pools);
        Accounts = new ClientAccounts(Pools, limits.BufferBytes);
        Admission = new ConnectionAdmission(this, limiter ?? new ConnectionLimiter(limits));
        Shutdown = new ReactorShutdown(this);
        WriteStallMs = (long)limits.WriteStall.TotalMilliseconds;
        _createBackend = createBackend;
        _pins = pins;
        Heartbeat = heartbeat ?? new LoopHeartbeat();
        Loop = new ReactorLoop(this, onIdle);
        Connections = new ConnectionTable(this);
        _thread = new Thread(Run) { IsBackground = true, Name = $"{group.ToLowerInvariant()}-{index}" };
    }

    /// <summary>The reactor whose thread this is; null elsewhere.</summary>
    [field: ThreadStatic]
    public static Reactor? Current { get; private set; }

    /// <summary>Its index in the group, from 0.</summary>
    public int Index { get; }

    /// <summary>Whether the caller is on the reactor's thread.</summary>
    public bool IsReactorThread => Current == this;

    /// <summary>
    /// Whether the group is stopping: handlers should finish what they are doing and end their connections. Reactor thread.
    /// </summary>
    public bool IsDraining => Shutdown.HasBegun;

    /// <summary>
    /// Whether memory for connections is running out: handlers should refuse new work, so that work in progress can finish. Reactor thread.
    /// </summary>
    public bool IsOverloaded => Accounts.IsShort;

    /// <summary>Whether the reactor has ended: posted actions no longer run. Any thread.</summary>
    public bool HasEnded => Loop.Mailbox.IsClosed;

    /// <summary>Completes when the reactor has ended, and nothing of it runs any more. Any thread.</summary>
    internal Task Ended => _ended.Task;

    /// <inheritdoc cref="MemoryTrimmer.IsIdle"/>
    internal bool IsIdle => MemoryTrimmer.IsIdle;

    internal Backend Backend { get; private set; } = null!;

    internal IterationBudget Budget { get; private set; } = null!;

    internal BlockPools Pools { get; }

    internal ClientAccounts Accounts { get; }

    /// <summary>The descriptors that are reserved near the limit.</summary>
    internal DescriptorReserve Descriptors { get; private set; } = new(int.MaxValue);

    internal OutputBatchPool Batches { get; }

    internal TimerQueue Timers { get; private set; } = null!;

    internal ConnectionTable Connections { get; }

    internal ConnectionAdmission Admission { get; }

    /// <summary>Those that accept for it: replaced by the reactor's thread, read by the watchdog.</summary>
    internal ImmutableArray<Acceptor> Acceptors { get; set; } = [];

    /// <summary>UDP sockets that are not closed: with one, the reactor drains until its deadline.</summary>
    internal List<DatagramSocket> DatagramSockets { get; } = [];

    internal ReactorShutdown Shutdown { get; }

    internal ReactorLoop Loop { get; }

    internal AmbientContext Context { get; } = new();

    internal OperationTable Operations { get; private set; } = null!;

    internal MemoryTrimmer MemoryTrimmer { get; } = new();

    internal ReactorCounters Counters { get; } = new();

    internal Limits Limits { get; }

    internal EngineLog Log { get; }

    internal long WriteStallMs { get; }

    /// <summary>Monotonic milliseconds, read once per iteration.</summary>
    internal long NowMs { get; set; }

    /// <summary>The current time; <see cref="NowMs"/> is that of the iteration's start.</summary>
    internal long ClockMs => Backend.NowMs;

    internal LoopHeartbeat Heartbeat { get; }

    /// <summary>The kernel's thread id, once the thread has started.</summary>
    internal int ThreadId { get; private set; }

    /// <summary>
    /// Connects to an IP address or a unix socket and gives the connection to a handler, as a listener does with accepted ones: it belongs
    /// to this reactor and ends when the handler has returned. It does not count for the limits on client connections
    /// (<see cref="Limits.Connections"/>). Completes, on the reactor's thread, when the handler has run as far as its first wait. Reactor
    /// thread.
    /// </summary>
    /// <param name="endPoint">The address. Resolve names first.</param>
    /// <param name="handler">Serves the connection from its first byte to its last.</param>
    /// <param name="cancellation">Cancels the attempt.</param>
    /// <exception cref="SocketException">
    /// The attempt failed, or took longer than <see cref="Limits.ConnectTimeout"/> (<see cref="SocketError.TimedOut"/>); the message names
    /// cause and remedy.
    /// </exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor stops.</exception>
    /// <exception cref="NotSupportedException">The address is of a kind that cannot be connected to.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public Task ConnectAsync(EndPoint endPoint, ConnectionHandler handler, CancellationToken cancellation = default) =>
        ConnectAsync(endPoint, handler, ConnectSettings.Of(Limits), cancellation);

    /// <summary>The same with another time limit; <see cref="Timeout.InfiniteTimeSpan"/>: as long as the kernel tries.</summary>
    /// <inheritdoc cref="ConnectAsync(EndPoint, ConnectionHandler, CancellationToken)"/>
    public Task ConnectAsync(
        EndPoint endPoint, ConnectionHandler handler, TimeSpan timeout, CancellationToken cancellation = default)
    {
        TimeLimit.Require(timeout);
        return ConnectAsync(endPoint, handler, ConnectSettings.Of(Limits) with { Timeout = timeout }, cancellation);
    }

    internal Task ConnectAsync(EndPoint endPoint, ConnectionHandler handler, ConnectSettings settings, CancellationToken cancellation) =>
        ConnectOperation.ConnectAsync(this, endPoint, handler, settings, cancellation);

    /// <summary>
    /// Waits, as <see cref="Task.Delay(TimeSpan)"/> does, but continues in the reactor's loop and allocates nothing; it completes up to 8
    /// ms late. Await it once. Reactor thread.
    /// </summary>
    /// <param name="time">How long; <see cref="Timeout.InfiniteTimeSpan"/>: until cancelled.</param>
    /// <param name="cancellation">Ends it early.</param>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor reached its drain deadline.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public ValueTask Delay(TimeSpan time, CancellationToken cancellation = default)
    {
        AssertReactorThread();
        TimeLimit.Require(time);
        return Operations.RentDelay().Begin(TimeLimit.After(ClockMs, time), cancellation);
    }

    /// <summary>
    /// Reads from a file as an operation on the reactor's ring, without a thread that waits for the disk. Returns the number of bytes read:
    /// fewer than requested only before the end of the file, 0 at the end. The kernel owns the memory until completion, also after a
    /// cancellation. Await it once; allocates nothing. Reactor thread.
    /// </summary>
    /// <param name="file">Kept open while it is read.</param>
    /// <param name="destination">Where the bytes go.</param>
    /// <param name="offset">The position in the file.</param>
    /// <param name="cancellation">Cancels the read, unless the disk has begun it.</param>
    /// <exception cref="IOException">The file cannot be read; its HResult is the error number.</exception>
    /// <exception cref="ObjectDisposedException">The file is closed.</exception>
    /// <exception cref="OperationCanceledException">It was cancelled, or the reactor stops.</exception>
    /// <exception cref="InvalidOperationException">The caller is not on the reactor's thread.</exception>
    public ValueTask<int> ReadFileAsync(
        SafeFileHandle file, Memory<byte> destination, long offset, CancellationToken cancellation = default)
    {
        AssertReactorThread();
        ArgumentNullException.ThrowIfNull(file);
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        return Operations.RentRead().Begin(file, destination, offset, cancellation);
    }

    /// <summary>The same by descriptor into native memory. The caller owns both and keeps them until the read has ended.</summary>
    internal unsafe ValueTask<int> ReadDescriptorAsync(int file, byte* destination, int bytes, long offset)
    {
        AssertReactorThread();
        return Operations.RentRead().Begin(file, destination, bytes, offset);
    }

    /// <summary>
    /// Runs an action on the reactor's thread, in order of posting; never, if the reactor has ended. The action must not throw, and starts
    /// without ambient values (<see cref="AsyncLocal{T}"/>). Any thread.
    /// </summary>
    public void Post(Action<object?> action, object? state)
    {
        ArgumentNullException.ThrowIfNull(action);
        Loop.Mailbox.Post(action, state);
    }

    /// <summary>
    /// As <see cref="Post"/>, but runs on the thread pool if the reactor has ended, so that no awaiter hangs. Any thread.
    /// </summary>
    internal void PostContinuation(Action<object?> continuation, object? state) => Loop.Mailbox.PostContinuation(continuation, state);

    /// <summary>
    /// Runs a continuation that does not touch the reactor's state: on the reactor, or on the thread pool while the reactor is blocked or
    /// has ended. Any thread.
    /// </summary>
    internal void PostMovable(Action<object?> continuation, object? state)
    {
        if (IsStalled)
        {
            ThreadPool.UnsafeQueueUserWorkItem(continuation, state, preferLocal: false);
        }
        else
        {
            Loop.Mailbox.PostMovable(continuation, state);
        }
    }

    /// <summary>
    /// As <see cref="PostMovable"/>, but after the present callback, so that its caller has seen what it returned. If the callback blocks
    /// the reactor, it runs earlier, at the watchdog's next check. Reactor thread.
    /// </summary>
    internal void PostAfterCallback(Action<object?> continuation, object? state)
    {
        AssertReactorThread();
        Loop.Mailbox.PostMovable(continuation, state);
    }

    /// <summary>
    /// Moves continuations of <see cref="PostMovable"/> to the thread pool. Called repeatedly while the reactor is blocked: a post may have
    /// been in progress the first time. Any thread.
    /// </summary>
    internal void MovePostsToThreadPool() => Loop.Mailbox.MoveToPool();

    /// <summary>
    /// Switches to the reactor's thread: <c>await connection.Reactor.SwitchTo();</c>. If the reactor has ended, the await throws
    /// <see cref="ObjectDisposedException"/> on the thread pool. Any thread.
    /// </summary>
    public ReactorAwaitable SwitchTo() => new(this);

    /// <summary>Lets a handler with much to do continue in the next loop iteration, after all other connections. Reactor thread.</summary>
    public ReactorAwaitable Yield()
    {
        AssertReactorThread();
        return new ReactorAwaitable(this, yields: true);
    }

    /// <summary>Runs a continuation in a later iteration, after those postponed before.</summary>
    internal void Postpone(Action continuation)
    {
        AssertReactorThread();
        Loop.Postpone(continuation);
    }

    /// <summary>
    /// Runs an action at the end of this iteration, after its completions and before flushed output is sent: output of several events of an
    /// iteration becomes one send. The action must not throw. Reactor thread.
    /// </summary>
    internal void Defer(Action<object?> action, object? state)
    {
        AssertReactorThread();
        Loop.Defer(action, state);
    }

    /// <summary>Throws on other threads, in Release builds too: a race on a connection would mix bytes.</summary>
    internal void AssertReactorThread()
    {
        if (Current != this)
        {
            ThrowWrongThread();
        }
    }

    /// <summary>Starts the thread. The task fails with the original exception if the kernel queue or memory is not available.</summary>
    internal Task StartAsync()
    {
        // UnsafeStart: handlers must not inherit the caller's ambient values.
        _thread.UnsafeStart();
        return _started.Task;
    }

    /// <summary>Lets connections finish until the deadline, resets the remaining ones, and ends the thread.</summary>
    internal Task StopAsync(TimeSpan drain)
    {
        Post(static state =>
        {
            var (reactor, drain) = ((Reactor, TimeSpan))state!;
            reactor.Shutdown.Begin(drain);
        }, (this, drain));
        return _ended.Task;
    }

    /// <summary>Counts a failed read and logs it, rate-limited: a dead disk fails thousands of reads a second.</summary>
    internal void NoteFileFault(int result)
    {
        if (result == -Errno.ECANCELED)
        {
            return;
        }

        Counters.FileFaults++;
        if (_faultLogLimiter.Admits(NowMs))
        {
            Log.FileFaults(Counters.FileFaults - _faultsReported, Errno.Describe(result));
            _faultsReported = Counters.FileFaults;
        }
    }

    internal void NoteRefused() => Admission.NoteRefused();

    private void Run()
    {
        Current = this;
        Context.Capture();
        ThreadId = ThreadCalls.GetId();
        // Pin before the ring is created: its memory belongs to the NUMA node that touches it first.
        _pins?.Pin(Index);
        try
        {
            Create();
        }
#pragma warning disable CA1031 // The exception is reported through the start task.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Loop.Close();
            _started.SetException(error);
            return;
        }

        _started.SetResult();
        try
        {
            Loop.Run();
            Shutdown.TearDown();
        }
#pragma warning disable CA1031 // A failed reactor ends the process: a partly working server that looks healthy is worse than none.
        catch (Exception error)
#pragma warning restore CA1031
        {
            string what = $"Reactor {Index} of {_group} failed{WhereItFailed()}";
            Log.ReactorFailed(what, error);

            // FailFast repeats the message: a buffered log may not be flushed.
            Environment.FailFast($"{what}; the process ends: {error.Message}", error);
        }

        _ended.SetResult();
    }

    private void Create()
    {
        Backend backend = _createBackend();
        try
        {
            Descriptors = new DescriptorReserve(backend.DescriptorsMax);
            Pools.UseArena(backend.Arena);
            NowMs = backend.NowMs;
            Timers = new TimerQueue(NowMs);
            Budget = new IterationBudget(backend);
            Operations = new OperationTable(this, NowMs);
        }
        catch
        {
            backend.Dispose();
            throw;
        }

        Backend = backend;
        // Batches before pools: batches return their blocks to the pools.
        MemoryTrimmer.Add(Batches);
        MemoryTrimmer.Add(Pools);
        MemoryTrimmer.Add(backend);
    }

    private string WhereItFailed() => Loop.Mailbox.Running is { Method: var method }
        ? $" in an action that was posted to it ({method.DeclaringType?.Name}.{method.Name})"
        : "";

    private static void ThrowWrongThread() => throw new InvalidOperationException(
        "A connection may be used on its reactor's thread only: call 'await connection.Reactor.SwitchTo()' first.");
}
