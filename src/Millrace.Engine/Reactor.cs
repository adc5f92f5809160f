using System.Diagnostics;
using Millrace.Engine.Accounting;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
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
public sealed partial class Reactor
{
    /// <summary>Three weeks: the longest wait that both backends' calls accept. The loop then waits again.</summary>
    private const long LongestWaitMs = int.MaxValue;

    private readonly Thread _thread;
    private readonly Func<Backend> _createBackend;
    private readonly CoreAffinity? _pins;
    private readonly Mailbox _mailbox;
    private readonly string _group;
    private readonly List<Acceptor?> _acceptors = [];
    private readonly FlushQueue _flushes;
    private readonly List<(Action<object?> Action, object? State)> _deferred = [];
    private readonly Queue<Connection> _awaitingBuffer = new();
    private readonly YieldQueue _yielded;
    private readonly Action? _onIdle;
    private readonly List<int> _expired = [];
    private readonly LogRateLimiter _faultLogLimiter = new();
    private long _faultsReported;
    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <param name="index">Its index in the group.</param>
    /// <param name="limits">The limits; <see cref="Limits.BufferBytes"/> is this reactor's share.</param>
    /// <param name="log">The group's log.</param>
    /// <param name="createBackend">Makes the kernel queue, on the reactor's thread.</param>
    /// <param name="limiter">Counts the group's connections; null for a reactor without a group.</param>
    /// <param name="heartbeat">Observed by the group's stall watchdog; null where there is none.</param>
    /// <param name="group">The group's name, used for the thread and in messages.</param>
    /// <param name="pins">Pins the thread to a core; null leaves it to the kernel.</param>
    /// <param name="onIdle">Called after each period without traffic, when memory was given back; may be null.</param>
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
        _onIdle = onIdle;
        Index = index;
        _group = group;
        Limits = limits;
        Log = log;
        Pools = new BlockPools(limits.BufferBytes, reservedBytes: limits.BufferBytes / 8);
        Batches = new OutputBatchPool(Pools);
        Accounts = new ClientAccounts(Pools, limits.BufferBytes);
        _limiter = limiter ?? new ConnectionLimiter(limits);
        WriteStallMs = (long)limits.WriteStall.TotalMilliseconds;
        _createBackend = createBackend;
        _pins = pins;
        Heartbeat = heartbeat ?? new LoopHeartbeat();
        _flushes = new FlushQueue(Heartbeat);
        _mailbox = new Mailbox(WakeUp, BeginPost);
        _yielded = new YieldQueue(BeginPost);
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
    public bool IsDraining { get; private set; }

    /// <summary>
    /// Whether memory for connections is running out: handlers should refuse new work, so that work in progress can finish. Reactor thread.
    /// </summary>
    public bool IsOverloaded => Accounts.IsShort;

    /// <summary>Whether the reactor has ended: posted actions no longer run. Any thread.</summary>
    public bool HasEnded => _mailbox.IsClosed;

    /// <inheritdoc cref="MemoryTrimmer.IsIdle"/>
    internal bool IsIdle => MemoryTrimmer.IsIdle;

    internal Backend Backend { get; private set; } = null!;

    /// <summary>What this iteration may spend on connections that have much to do.</summary>
    internal IterationBudget Budget { get; private set; } = null!;

    internal BlockPools Pools { get; }

    /// <summary>Memory and descriptors held, by client.</summary>
    internal ClientAccounts Accounts { get; }

    /// <summary>The descriptors that are reserved near the limit.</summary>
    internal DescriptorReserve Descriptors { get; private set; } = new(int.MaxValue);

    internal OutputBatchPool Batches { get; }

    internal TimerWheel Timers { get; private set; } = null!;

    internal ConnectionTable Connections { get; }

    /// <summary>Gives back memory kept for the next peak when no peak comes.</summary>
    internal MemoryTrimmer MemoryTrimmer { get; } = new();

    internal ReactorCounters Counters { get; } = new();

    internal Limits Limits { get; }

    internal EngineLog Log { get; }

    internal long WriteStallMs { get; }

    /// <summary>Monotonic milliseconds, read once per iteration.</summary>
    internal long NowMs { get; private set; }

    /// <summary>
    /// Runs an action at the end of this iteration, after its completions and before flushed output is sent: output of several events of an
    /// iteration becomes one send. The action must not throw. Reactor thread.
    /// </summary>
    internal void Defer(Action<object?> action, object? state)
    {
        AssertReactorThread();
        _deferred.Add((action, state));
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
            reactor.BeginDrain(drain);
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

    internal void QueueFlush(Connection connection) => _flushes.Add(connection);

    /// <summary>Whether connections wait for a receive buffer.</summary>
    internal bool HasStarved => _awaitingBuffer.Count > 0;

    internal void QueueStarved(Connection connection)
    {
        Counters.ReceivesStarved++;
        _awaitingBuffer.Enqueue(connection);
    }

    private void Run()
    {
        Current = this;
        _ownContext = ExecutionContext.Capture();
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
            _mailbox.Close(Abandon);
            _started.SetException(error);
            return;
        }

        _started.SetResult();
        try
        {
            Heartbeat.EndWait();
            while (RunIteration())
            {
            }

            AbandonWaits();
            // The last iteration's continuations still run, so that no awaiter hangs.
            RunDeferred();
            Heartbeat.BeginWait();
            _yielded.MoveTo(_mailbox);
            _mailbox.Close(Abandon);
            TearDown();
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
            Timers = new TimerWheel(NowMs);
            Budget = new IterationBudget(backend);
            Operations = new OperationTable(NowMs);
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

    /// <summary>Names the posted action that threw, if one did.</summary>
    private string WhereItFailed() => _mailbox.Running is { Method: var method }
        ? $" in an action that was posted to it ({method.DeclaringType?.Name}.{method.Name})"
        : "";

    /// <summary>One loop iteration; false when the reactor has ended, which is checked before the wait.</summary>
    private bool RunIteration()
    {
        if (_mailbox.IsAnnounced)
        {
            Counters.Posts += _mailbox.Drain();
            ReturnTo(_ownContext);
        }

        RunTimers();
        RunDeferred();
        _flushes.Send(Budget);
        RelieveMemory();
        if (IsDrained())
        {
            return false;
        }

        Heartbeat.BeginWait();
        // Dekker pattern: the poster enqueues, fences (in the mailbox), and reads IsWaiting; the loop sets IsWaiting, fences, and reads the
        // queue. One of them sees the other.
        Interlocked.MemoryBarrier();
        int yielded = _yielded.Count;
        bool isBusy = _mailbox.IsAnnounced || _deferred.Count > 0 || HasStarved || yielded > 0 || _flushes.Count > 0;
        ReadOnlySpan<Completion> completions = Backend.Poll(isBusy ? 0 : WaitMs());
        Heartbeat.EndWait();
        NowMs = Backend.NowMs;
        Counters.Iterations++;
        Counters.Completions += completions.Length;
        Budget.BeginPhase(IterationBudget.PhaseTicks);
        for (int i = 0; i < completions.Length; i++)
        {
            Prefetch(completions, i);
            Heartbeat.Beat();
            Budget.BeginSlice(waiting: _yielded.Count + completions.Length - i - 1);
            Dispatch(completions[i]);
            RelieveMemory();
        }

        if (completions.Length > 0)
        {
            MemoryTrimmer.Arm(NowMs);
        }

        if (yielded > 0)
        {
            _yielded.RunFor(yielded, Budget);
            ReturnTo(_ownContext);
        }

        RetryAllStarved();
        return true;
    }

    private void Dispatch(in Completion completion)
    {
        OperationToken token = completion.Token;
        switch (token.Kind)
        {
            case OperationKind.Receive:
                Connections.Find(token)?.Receiver.OnReceived(completion);
                break;
            case OperationKind.Send:
                Connections.Find(token)?.Sender.OnSent(completion);
                break;
            case OperationKind.FileRead:
                Connections.Find(token)?.FileReader.OnRead(completion);
                break;
            case OperationKind.Accept:
                _acceptors[token.Slot]?.OnAccepted(completion);
                break;
            case OperationKind.Connect or OperationKind.FileReadOperation:
                Operations.Find(token)?.OnCompleted(completion);
                break;
            case OperationKind.Cancel:
                // The cancelled operation reports its own end; CancelRetry repeats a cancel that had no effect.
                break;
            default:
                throw new UnreachableException($"A completion of kind {token.Kind} is not expected.");
        }

        if (completion.HasBuffer)
        {
            Backend.ReturnBuffer(completion.BufferId);
        }
    }

    private void RunTimers()
    {
        Timers.Advance(NowMs, _expired);
        foreach (int slot in _expired)
        {
            Heartbeat.Beat();
            Connections.At(slot).Timers.OnTimer(NowMs);
        }

        _expired.Clear();
        Operations.RunDue(NowMs);
        if (MemoryTrimmer.RunDue(NowMs, Counters.Completions))
        {
            _onIdle?.Invoke();
        }

        foreach (Acceptor? acceptor in _acceptors)
        {
            if (NowMs >= acceptor?.DueMs)
            {
                acceptor.OnDue();
            }
        }
    }

    private void RunDeferred()
    {
        // By index: an action may defer another (a flush, say), which belongs to this iteration too.
        for (int i = 0; i < _deferred.Count; i++)
        {
            (Action<object?> action, object? state) = _deferred[i];
            Heartbeat.Beat();
            action(state);
        }

        _deferred.Clear();
    }

    /// <summary>The iteration's buffers are returned: retries as many waiting receives as there are buffers, in order of arrival.</summary>
    private void RetryAllStarved()
    {
        for (int count = Math.Min(_awaitingBuffer.Count, Backend.ReceiveBufferCount); count > 0; count--)
        {
            _awaitingBuffer.Dequeue().Receiver.RetryStarved();
        }
    }

    private long WaitMs()
    {
        long wait = Earlier(Earlier(Timers.WaitMs(NowMs), Operations.NextDueMs(NowMs)), MemoryTrimmer.DueMs);
        foreach (Acceptor? acceptor in _acceptors)
        {
            wait = Earlier(wait, acceptor?.DueMs ?? TimeLimit.Never);
        }

        return Earlier(Earlier(wait, _abortAtMs), _giveUpAtMs);
    }

    private long Earlier(long waitMs, long atMs)
    {
        if (atMs == long.MaxValue)
        {
            return waitMs;
        }

        long until = Math.Clamp(atMs - NowMs, 0, LongestWaitMs);
        return waitMs < 0 ? until : Math.Min(waitMs, until);
    }

    /// <summary>Wakes the loop if it waits; an awake loop reads the mailbox before its next wait. Any thread.</summary>
    private void WakeUp()
    {
        if (Heartbeat.IsWaiting)
        {
            Backend.Wake();
        }
    }

    private static void ThrowWrongThread() => throw new InvalidOperationException(
        "A connection may be used on its reactor's thread only: call 'await connection.Reactor.SwitchTo()' first.");
}
