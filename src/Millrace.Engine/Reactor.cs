using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Errands;
using Millrace.Engine.Listening;
using Millrace.Engine.Scheduling;
using Millrace.Engine.Watching;
using Millrace.Interop;
using Millrace.Interop.Threads;

namespace Millrace.Engine;

/// <summary>
/// One thread, one kernel queue, and the connections that belong to both. A turn of its loop: what others posted, timers that
/// are due, sends of what was flushed, one enter, and the completions it brought, each of which runs its handler inline.
/// Everything a reactor owns is touched by its thread only; other threads use <see cref="Post"/>.
/// </summary>
public sealed partial class Reactor
{
    /// <summary>Batches kept for the next sends; a peak beyond goes back to the system.</summary>
    private const int BatchesKept = 1_024;

    private readonly Thread _thread;
    private readonly Func<Backend> _createBackend;
    private readonly CorePins? _pins;
    private readonly Mailbox _mailbox;
    private readonly List<Acceptor> _acceptors = [];
    private readonly List<Connection> _flushes = [];
    private readonly List<(Action<object?> Action, object? State)> _deferred = [];
    private readonly Queue<Connection> _parked = new();
    private readonly Stack<OutputBatch> _batches = new();
    private readonly List<int> _expired = [];
    private readonly LinePace _faultLines = new();
    private long _faultsTold;
    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <param name="index">Its number in the group.</param>
    /// <param name="limits">The bounds; memory is this reactor's own share.</param>
    /// <param name="log">The group's.</param>
    /// <param name="createBackend">Makes the kernel queue, on the reactor's thread.</param>
    /// <param name="turnstile">The group's count of connections; none for a reactor that is alone.</param>
    /// <param name="pulse">What the group's watch looks at; none for a reactor that nobody watches.</param>
    /// <param name="group">What its group is called.</param>
    /// <param name="pins">Which core its thread stays on; none where it goes where the kernel puts it.</param>
    internal Reactor(
        int index,
        Limits limits,
        EngineLog log,
        Func<Backend> createBackend,
        Turnstile? turnstile = null,
        Pulse? pulse = null,
        string group = EngineMeter.Name,
        CorePins? pins = null)
    {
        Index = index;
        Limits = limits;
        Log = log;
        Pools = new BlockPools(limits.BufferBytes);
        _turnstile = turnstile ?? new Turnstile(limits);
        WriteStallMs = (long)limits.WriteStall.TotalMilliseconds;
        _createBackend = createBackend;
        _pins = pins;
        Pulse = pulse ?? new Pulse();
        _mailbox = new Mailbox(WakeUp, BeginPost);
        Connections = new ConnectionTable(this);
        _thread = new Thread(Run) { IsBackground = true, Name = $"{group.ToLowerInvariant()}-{index}" };
    }

    /// <summary>The reactor whose thread this is; null elsewhere.</summary>
    [field: ThreadStatic]
    public static Reactor? Current { get; private set; }

    /// <summary>Its number in the group, from 0.</summary>
    public int Index { get; }

    /// <summary>Whether the caller is on the reactor's thread.</summary>
    public bool IsHome => Current == this;

    /// <summary>Whether the group stops: handlers should end their connections after what they are doing. Reactor thread.</summary>
    public bool IsDraining { get; private set; }

    /// <summary>
    /// Whether memory for connections runs out: handlers should refuse what is new, so that what has begun can be finished. Reactor
    /// thread.
    /// </summary>
    public bool IsOverloaded => Pools.IsNearlyExhausted;

    /// <summary>Whether the reactor has ended: what is posted does not run any more. Any thread.</summary>
    public bool HasEnded => _mailbox.IsClosed;

    internal Backend Backend { get; private set; } = null!;

    internal BlockPools Pools { get; }

    /// <summary>Batches that connections hold.</summary>
    internal int BatchesLent { get; private set; }

    internal TimerWheel Timers { get; private set; } = null!;

    internal ConnectionTable Connections { get; }

    internal ReactorCounters Counters { get; } = new();

    internal Limits Limits { get; }

    internal EngineLog Log { get; }

    internal long WriteStallMs { get; }

    /// <summary>Milliseconds of a clock that never goes back, read once per turn.</summary>
    internal long NowMs { get; private set; }

    /// <summary>
    /// Runs an action at the end of this turn, when all that came in it was dealt with, and before what was flushed is handed over: what
    /// several events of a turn have written goes out as one send. Reactor thread. The action must not throw.
    /// </summary>
    internal void Defer(Action<object?> action, object? state)
    {
        AssertHome();
        _deferred.Add((action, state));
    }

    /// <summary>
    /// Awaited to come home: <c>await connection.Reactor.SwitchTo();</c> continues on the reactor's thread. When the reactor has ended
    /// there is no such thread: the await then throws <see cref="ObjectDisposedException"/>, on the thread pool. Any thread.
    /// </summary>
    public HomeAwaitable SwitchTo() => new(this);

    /// <summary>
    /// Awaited by a handler that has much to do without a wait: it goes on in the next turn of the loop, after everybody else's.
    /// Reactor thread.
    /// </summary>
    public TurnAwaitable NextTurn()
    {
        AssertHome();
        return new TurnAwaitable(this);
    }

    /// <summary>Refuses callers on other threads, in Release builds too: a race on a connection would mix bytes.</summary>
    internal void AssertHome()
    {
        if (Current != this)
        {
            ThrowNotHome();
        }
    }

    /// <summary>Starts the thread; the task fails when its kernel queue cannot be had.</summary>
    internal Task StartAsync()
    {
        // Without the caller's execution context: its ambient values are none of the handlers' business.
        _thread.UnsafeStart();
        return _started.Task;
    }

    /// <summary>Lets connections finish until the deadline, resets those left, and ends the thread.</summary>
    internal Task StopAsync(TimeSpan drain)
    {
        Post(static state =>
        {
            var (reactor, drain) = ((Reactor, TimeSpan))state!;
            reactor.BeginDrain(drain);
        }, (this, drain));
        return _ended.Task;
    }

    /// <summary>Counts a read that failed, and logs it with those since the last line: a dead disk fails thousands a second.</summary>
    internal void NoteFileFault(int result)
    {
        if (result == -Errno.ECANCELED)
        {
            return;
        }

        Counters.FileFaults++;
        if (_faultLines.Admits(NowMs))
        {
            Log.FileFaults(Counters.FileFaults - _faultsTold, Errno.Describe(result));
            _faultsTold = Counters.FileFaults;
        }
    }

    internal void QueueFlush(Connection connection) => _flushes.Add(connection);

    /// <summary>Whether connections wait for a receive buffer.</summary>
    internal bool HasParked => _parked.Count > 0;

    internal void Park(Connection connection)
    {
        Counters.ReceivesParked++;
        _parked.Enqueue(connection);
    }

    internal OutputBatch RentBatch()
    {
        BatchesLent++;
        return _batches.TryPop(out OutputBatch? batch) ? batch : new OutputBatch(Pools);
    }

    internal void ReturnBatch(OutputBatch batch)
    {
        BatchesLent--;
        batch.Reset();
        if (_batches.Count < BatchesKept)
        {
            _batches.Push(batch);
        }
        else
        {
            batch.Dispose();
        }
    }

    private void Run()
    {
        Current = this;
        _ownContext = ExecutionContext.Capture();
        ThreadId = ThreadCalls.GetId();
        // Before the ring: its memory is that of the node where it is first touched.
        _pins?.Pin(Index);
        try
        {
            Backend = _createBackend();
            Pools.LendFrom(Backend.Arena);
            NowMs = Backend.NowMs;
            Timers = new TimerWheel(NowMs);
            Errands = new ErrandTable(NowMs);
        }
        catch (EngineException refusal)
        {
            _mailbox.Close(Abandon);
            _started.SetException(refusal);
            return;
        }

        _started.SetResult();
        try
        {
            Pulse.Rise();
            while (Turn())
            {
            }

            Pulse.Rest();
            _mailbox.Close(Abandon);
            TearDown();
        }
#pragma warning disable CA1031 // Whatever ends a reactor ends the process: half of a server that looks healthy is worse than none.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Log.ReactorFailed(Index, error);

            // Says it once more: a log that writes behind does not come to it.
            Environment.FailFast($"Millrace reactor {Index} failed; the process ends: {error.Message}", error);
        }

        _ended.SetResult();
    }

    /// <summary>False when the reactor has ended: asked before the wait, which would be one for nothing.</summary>
    private bool Turn()
    {
        if (_mailbox.IsAnnounced)
        {
            Counters.Posts += _mailbox.Drain();
            ReturnTo(_ownContext);
        }

        RunTimers();
        RunDeferred();
        SendFlushed();
        if (IsDrained())
        {
            return false;
        }

        Pulse.Rest();
        // Who posts looks behind his post whether it rests, and this behind its rest whether there is a post, each across a full fence (his
        // is the mailbox's): one of the two sees the other.
        Interlocked.MemoryBarrier();
        bool isBusy = _mailbox.IsAnnounced || _deferred.Count > 0 || HasParked;
        ReadOnlySpan<Completion> completions = Backend.Turn(isBusy ? 0 : WaitMs());
        Pulse.Rise();
        NowMs = Backend.NowMs;
        Counters.Turns++;
        Counters.Completions += completions.Length;
        for (int i = 0; i < completions.Length; i++)
        {
            Foresee(completions, i);
            Pulse.Beat();
            Dispatch(completions[i]);
        }

        RetryParked();
        return true;
    }

    private void Dispatch(in Completion completion)
    {
        OperationToken token = completion.Token;
        switch (token.Kind)
        {
            case OperationKind.Receive:
                Connections.Find(token)?.OnReceived(completion);
                break;
            case OperationKind.Send:
                Connections.Find(token)?.OnSent(completion);
                break;
            case OperationKind.FileRead:
                Connections.Find(token)?.OnFileRead(completion);
                break;
            case OperationKind.Accept:
                _acceptors[token.Slot].OnAccepted(completion);
                break;
            case OperationKind.Connect or OperationKind.MemoryRead:
                Errands.Find(token)?.OnCompleted(completion);
                break;
            case OperationKind.Cancel:
                // What was cancelled tells its end itself, and is told again where it does not.
                break;
            default:
                throw new UnreachableException($"A completion of the kind {token.Kind} cannot be.");
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
            Pulse.Beat();
            Connections.At(slot).OnTimer(NowMs);
        }

        _expired.Clear();
        Errands.RunDue(NowMs);
        foreach (Acceptor acceptor in _acceptors)
        {
            if (NowMs >= acceptor.DueMs)
            {
                acceptor.OnDue();
            }
        }
    }

    private void RunDeferred()
    {
        // By index: what runs may defer more, a flush say, that belongs to this turn too.
        for (int i = 0; i < _deferred.Count; i++)
        {
            (Action<object?> action, object? state) = _deferred[i];
            Pulse.Beat();
            action(state);
        }

        _deferred.Clear();
    }

    private void SendFlushed()
    {
        // By index: the end of one flush may queue another.
        for (int i = 0; i < _flushes.Count; i++)
        {
            Pulse.Beat();
            _flushes[i].SendFlushed();
        }

        _flushes.Clear();
    }

    /// <summary>The buffers of the turn have come back: as many of those that wait for one try again, the longest waiting first.</summary>
    private void RetryParked()
    {
        for (int count = Math.Min(_parked.Count, Backend.ReceiveBufferCount); count > 0; count--)
        {
            _parked.Dequeue().Unpark();
        }
    }

    private long WaitMs()
    {
        long wait = Sooner(Timers.WaitMs(NowMs), Errands.NextDueMs(NowMs));
        foreach (Acceptor acceptor in _acceptors)
        {
            wait = Sooner(wait, acceptor.DueMs);
        }

        return Sooner(Sooner(wait, _abortAtMs), _giveUpAtMs);
    }

    private long Sooner(long waitMs, long atMs)
    {
        if (atMs == long.MaxValue)
        {
            return waitMs;
        }

        long until = Math.Max(0, atMs - NowMs);
        return waitMs < 0 ? until : Math.Min(waitMs, until);
    }

    /// <summary>While it is awake nothing is to be done: it looks into the mailbox before its next wait. Any thread.</summary>
    private void WakeUp()
    {
        if (Pulse.IsResting)
        {
            Backend.Wake();
        }
    }

    private static void ThrowNotHome() => throw new InvalidOperationException(
        "A connection may be used on its reactor's thread only: come home with 'await connection.Reactor.SwitchTo()' first.");
}
