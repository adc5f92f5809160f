using System.Diagnostics;
using Millrace.Engine.Backends;

namespace Millrace.Engine.Loop;

/// <summary>
/// A reactor's event loop, and the queues of what its next iterations do. Reactor thread, except <see cref="Mailbox"/>.
/// </summary>
internal sealed class ReactorLoop
{
    /// <summary>Three weeks: the longest wait that both backends' calls accept. The loop then waits again.</summary>
    private const long LongestWaitMs = int.MaxValue;

    private readonly Reactor _reactor;
    private readonly Action? _onIdle;
    private readonly List<(Action<object?> Action, object? State)> _deferred = [];

    /// <summary>Connections that flushed output in this iteration, in order.</summary>
    private readonly List<Connection> _flushes = [];

    private readonly Queue<Action> _yielded = new();

    /// <summary>Results of calls that have returned in an earlier iteration, in order: taken as completions are.</summary>
    private readonly Queue<Action> _results = new();
    private readonly Queue<Connection> _awaitingBuffer = new();
    private readonly List<int> _expired = [];

    public ReactorLoop(Reactor reactor, Action? onIdle)
    {
        _reactor = reactor;
        _onIdle = onIdle;
        Mailbox = new Mailbox(WakeUp, BeginPost);
    }

    public Mailbox Mailbox { get; }

    public LoopTimers Timers { get; } = new();

    public bool HasStarved => _awaitingBuffer.Count > 0;

    public void Defer(Action<object?> action, object? state) => _deferred.Add((action, state));

    /// <summary>Runs a continuation in a later iteration, after those postponed before.</summary>
    public void Postpone(Action continuation) => _yielded.Enqueue(continuation);

    /// <summary>Has the result of a call taken in the next iteration, so that other connections are not delayed.</summary>
    public void PostponeResult(Action take) => _results.Enqueue(take);

    /// <summary>Sends what a connection has flushed at the end of the iteration.</summary>
    public void QueueFlush(Connection connection) => _flushes.Add(connection);

    public int FlushesQueued => _flushes.Count;

    /// <summary>Sends what connections have flushed since then, as far as their sockets take it at once.</summary>
    public void SendAtOnce(int first)
    {
        for (int i = first; i < _flushes.Count; i++)
        {
            _flushes[i].Writer.SendFlushedNow(byCall: true);
        }
    }

    /// <summary>Retries a connection's receive when there are receive buffers again.</summary>
    public void QueueStarved(Connection connection)
    {
        _reactor.Counters.ReceivesStarved++;
        _awaitingBuffer.Enqueue(connection);
    }

    public void Run()
    {
        _reactor.Heartbeat.EndWait();
        while (RunIteration())
        {
        }

        _reactor.Shutdown.AbandonWaits();
        // The last iteration's continuations still run, so that no awaiter hangs.
        RunDeferred();
        _reactor.Heartbeat.BeginWait();
        // The mailbox runs them even when closed, so that their awaiters learn it.
        while (_yielded.TryDequeue(out Action? continuation))
        {
            Mailbox.PostContinuation(static continuation => ((Action)continuation!)(), continuation);
        }

        Close();
    }

    /// <summary>Posts no longer run. Late ones are dropped: their connections are gone.</summary>
    public void Close() => Mailbox.Close(static (_, _) => { });

    /// <summary>One loop iteration; false when the reactor has ended, which is checked before the wait.</summary>
    private bool RunIteration()
    {
        if (Mailbox.IsAnnounced)
        {
            _reactor.Counters.Posts += Mailbox.Drain();
            _reactor.Context.Clear();
        }

        RunTimers();
        RunDeferred();
        SendFlushes();
        _reactor.Admission.RelieveMemory();
        if (_reactor.Shutdown.IsDone())
        {
            return false;
        }

        _reactor.Heartbeat.BeginWait();
        // Dekker pattern: the poster enqueues, fences (in the mailbox), and reads IsWaiting; the loop sets IsWaiting, fences, and reads the
        // queue. One of them sees the other.
        Interlocked.MemoryBarrier();
        int yielded = _yielded.Count;
        int results = _results.Count;
        bool isBusy = Mailbox.IsAnnounced || _deferred.Count > 0 || HasStarved || yielded + results > 0 || _flushes.Count > 0;
        ReadOnlySpan<Completion> completions = isBusy ? _reactor.Backend.Poll(0) : Wait();
        _reactor.Heartbeat.EndWait();
        _reactor.NowMs = _reactor.Backend.NowMs;
        _reactor.Counters.Iterations++;
        _reactor.Counters.Completions += completions.Length + results;
        _reactor.Budget.BeginPhase(IterationBudget.PhaseTicks);
        for (int i = 0; i < completions.Length; i++)
        {
            _reactor.Connections.Prefetch(completions, i);
            _reactor.Heartbeat.Beat();
            _reactor.Budget.BeginSlice(waiting: _yielded.Count + results + completions.Length - i - 1);
            Dispatch(completions[i]);
            _reactor.Admission.RelieveMemory();
        }

        TakeResults(results);
        if (completions.Length + results > 0)
        {
            _reactor.MemoryTrimmer.Arm(_reactor.NowMs);
        }

        if (yielded > 0)
        {
            RunYielded(yielded);
            _reactor.Context.Clear();
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
                _reactor.Connections.Find(token)?.Receiver.OnReceived(completion);
                break;
            case OperationKind.Send:
                _reactor.Connections.Find(token)?.Sender.OnSent(completion);
                break;
            case OperationKind.FileRead:
                _reactor.Connections.Find(token)?.FileReader.OnRead(completion);
                break;
            case OperationKind.Accept or OperationKind.Connect or OperationKind.FileReadOperation:
                _reactor.Operations.Find(token)?.OnCompleted(completion);
                break;
            case OperationKind.SendDatagram:
                _reactor.Operations.Find(token)?.OnCompleted(completion);
                break;
            case OperationKind.ReceiveDatagrams:
                ReceiveDatagrams(completion);
                return;
            case OperationKind.Cancel:
                // The cancelled operation reports its own end; CancelRetry repeats a cancel that had no effect.
                break;
            default:
                throw new UnreachableException($"A completion of kind {token.Kind} is not expected.");
        }

        if (completion.HasBuffer)
        {
            _reactor.Backend.ReturnBuffer(completion.BufferId);
        }
    }

    /// <summary>The buffer is the receiver's, which may keep it for a later iteration.</summary>
    private void ReceiveDatagrams(in Completion completion)
    {
        if (_reactor.Operations.Find(completion.Token) is { } receiver)
        {
            receiver.OnCompleted(completion);
        }
        else if (completion.HasBuffer)
        {
            _reactor.Backend.ReturnDatagramBuffer(completion.BufferId);
        }
    }

    private void TakeResults(int count)
    {
        for (; count > 0; count--)
        {
            _reactor.Heartbeat.Beat();
            _reactor.Budget.BeginSlice(waiting: _yielded.Count + count - 1);
            _results.Dequeue()();
            _reactor.Admission.RelieveMemory();
        }
    }

    private void RunTimers()
    {
        _reactor.Timers.Advance(_reactor.NowMs, _expired);
        foreach (int slot in _expired)
        {
            _reactor.Heartbeat.Beat();
            _reactor.Connections.At(slot).Timers.OnTimer(_reactor.NowMs);
        }

        _expired.Clear();
        _reactor.Operations.RunDue(_reactor.NowMs);
        Timers.RunDue(_reactor.Backend);
        if (_reactor.MemoryTrimmer.RunDue(_reactor.NowMs, _reactor.Counters.Completions))
        {
            _onIdle?.Invoke();
        }
    }

    private void RunDeferred()
    {
        // By index: an action may defer another (a flush, say), which belongs to this iteration too.
        for (int i = 0; i < _deferred.Count; i++)
        {
            (Action<object?> action, object? state) = _deferred[i];
            _reactor.Heartbeat.Beat();
            action(state);
        }

        _deferred.Clear();
    }

    /// <summary>
    /// Small sends all go out at the end of the iteration; large ones as far as its byte budget goes, the others first in the next one.
    /// </summary>
    private void SendFlushes()
    {
        int kept = 0;
        _reactor.Budget.BeginSends();
        // The end of a flush may queue another, for the next iteration: a handler that writes as fast as it is sent would never end this.
        int count = _flushes.Count;
        for (int i = 0; i < count; i++)
        {
            Connection connection = _flushes[i];
            if (_reactor.Budget.TrySend(connection.Writer.Bytes))
            {
                _reactor.Heartbeat.Beat();
                connection.Sender.SendFlushed();
            }
            else
            {
                _flushes[kept++] = connection;
            }
        }

        _flushes.RemoveRange(kept, count - kept);
    }

    /// <summary>Runs those that have waited longest, for the time of one phase, and at least one of those before the iteration.</summary>
    private void RunYielded(int most)
    {
        _reactor.Budget.BeginPhase(IterationBudget.PhaseTicks);
        do
        {
            BeginPost();
            _reactor.Budget.BeginSlice(waiting: _yielded.Count - 1);
            _yielded.Dequeue()();
        }
        while (--most > 0 && !_reactor.Budget.IsPhaseOver);
    }

    /// <summary>The iteration's buffers are returned: retries as many waiting receives as there are buffers, in order of arrival.</summary>
    private void RetryAllStarved()
    {
        for (int count = Math.Min(_awaitingBuffer.Count, _reactor.Backend.ReceiveBufferCount); count > 0; count--)
        {
            _awaitingBuffer.Dequeue().Receiver.RetryStarved();
        }
    }

    private ReadOnlySpan<Completion> Wait()
    {
        long waitMs = WaitMs();
        long dueNs = Timers.DueNs;
        if (dueNs == long.MaxValue)
        {
            return _reactor.Backend.Poll(waitMs);
        }

        long waitNs = Math.Max(0, dueNs - _reactor.Backend.NowNs);
        return waitMs >= 0 && waitMs * 1_000_000 <= waitNs ? _reactor.Backend.Poll(waitMs) : _reactor.Backend.PollFine(waitNs);
    }

    private long WaitMs()
    {
        long dueMs = Math.Min(_reactor.Timers.NextDueMs, _reactor.Operations.NextDueMs);
        dueMs = Math.Min(dueMs, Math.Min(_reactor.MemoryTrimmer.DueMs, _reactor.Shutdown.NextDueMs));
        return dueMs == long.MaxValue ? -1 : Math.Clamp(dueMs - _reactor.NowMs, 0, LongestWaitMs);
    }

    /// <summary>Wakes the loop if it waits; an awake loop reads the mailbox before its next wait. Any thread.</summary>
    private void WakeUp()
    {
        if (_reactor.Heartbeat.IsWaiting)
        {
            _reactor.Backend.Wake();
        }
    }

    private void BeginPost()
    {
        _reactor.Heartbeat.Beat();
        _reactor.Context.Clear();
    }
}
