using Millrace.Engine.Listening;
using Millrace.Interop;

namespace Millrace.Engine.Diagnostics;

/// <summary>
/// Watches one reactor and acts while it is stalled. Its connections wait, as no other thread may touch them, but new connections and
/// movable continuations are moved elsewhere, and a callback that waits for its own reactor is failed. The watchdog's thread.
/// </summary>
internal sealed class ReactorWatchdog : IDisposable
{
    /// <summary>
    /// Checks with a certain wait before it is failed: posts are moved to the pool first, which may end the wait.
    /// </summary>
    private const int WaitChecks = 20;

    /// <summary>
    /// The same where the wait is uncertain: five seconds. A callback blocked by something else for less keeps its connection; a deadlocked
    /// one would wait forever.
    /// </summary>
    private const int UncertainWaitChecks = 1000;

    /// <summary>
    /// A first call is reported only after this time, and if it was blocked for most of it. Compilation computes, however long it takes;
    /// its waits (another thread that compiles the same, assemblies on a slow disk) are over by then.
    /// </summary>
    private const int FirstCallMs = 500;

    private readonly Reactor _reactor;
    private readonly ConnectionBalancer _balancer;
    private readonly EngineLog _log;
    private readonly LogRateLimiter _line;
    private readonly ThreadInspector _thread;
    private readonly StallDetector _stall;

    // Of the present stall.
    private bool _isFirstCall;
    private bool _isDecided;
    private bool _isReported;
    private int _waitChecks;
    private int _certainChecks;
    private bool _hasFailed;

    public ReactorWatchdog(Reactor reactor, ConnectionBalancer balancer, EngineLog log, LogRateLimiter line)
    {
        _reactor = reactor;
        _balancer = balancer;
        _log = log;
        _line = line;
        _thread = new ThreadInspector(reactor);
        _stall = new StallDetector(_thread.Sample);
        // Opens its file while descriptors are available.
        _ = _thread.Sample();
    }

    /// <summary>Checks the reactor and acts. True when it has waited in the kernel since the last check.</summary>
    public bool Check(long nowMs)
    {
        long beats = _reactor.Heartbeat.Count;
        _stall.Sample(beats, nowMs);
        ICallbackOwner? owner = _reactor.CallbackOwner;
        // If the reactor has moved on meanwhile, its thread may have been sampled while it was idle.
        if (_stall.BlockedSinceLastMs > 0 && owner is not null && _reactor.Heartbeat.Count == beats)
        {
            _reactor.Counters.BlockedMs += _stall.BlockedSinceLastMs;
            owner.NoteBlocked(beats, _stall.BlockedSinceLastMs);
        }

        if (_stall.StalledMs >= StallDetector.StallMs)
        {
            if (!_reactor.IsStalled)
            {
                Begin(owner);
            }

            ReportOnce(owner, nowMs);
            MoveWork();
            FailWait(owner);
        }
        else if (_reactor.IsStalled)
        {
            End();
        }

        if (_stall.IsStuck)
        {
            owner?.Relieve();
        }

        return _stall.IsQuiet;
    }

    public void Dispose() => _thread.Dispose();

    private void Begin(ICallbackOwner? owner)
    {
        _reactor.Counters.Stalls++;
        _reactor.IsStalled = true;
        _waitChecks = _certainChecks = 0;
        _isDecided = _hasFailed = false;
        // Recorded at the start: another call of the same code may end while this one lasts. With no known owner, a reactor's first
        // connection counts as the first call of its handlers.
        _isFirstCall = owner?.BeginStall() ?? _reactor.Counters.Accepted <= 1;
    }

    private void End()
    {
        _reactor.IsStalled = false;
        if (_isReported)
        {
            _isReported = false;
            _log.StallEnded(_reactor.Index, _stall.DurationMs);
        }
    }

    private void ReportOnce(ICallbackOwner? owner, long nowMs)
    {
        bool mayBeJitCompilation = _isFirstCall && (_stall.DurationMs < FirstCallMs || 2 * _stall.BlockedMs < _stall.StalledMs);
        if (_isDecided || mayBeJitCompilation)
        {
            return;
        }

        _isDecided = true;
        if (_line.Admits(nowMs, out long since))
        {
            // Set only after the log line: if Describe throws, nothing was logged whose end could be.
            _log.Stalled(_reactor.Index, _stall.DurationMs, owner?.Describe() ?? "an unknown callback", since);
            _isReported = true;
        }
    }

    private void MoveWork()
    {
        _reactor.MovePostsToThreadPool();
        if (_balancer.HasFree)
        {
            foreach (Acceptor acceptor in _reactor.Acceptors)
            {
                acceptor.DistributeQueue(_balancer.Distribute);
            }
        }
    }

    /// <summary>Each kind of wait has its own count: one that has just begun has had no time to end by itself.</summary>
    private void FailWait(ICallbackOwner? owner)
    {
        OwnerWait wait = owner?.Wait ?? OwnerWait.None;
        if (wait == OwnerWait.None)
        {
            _waitChecks = _certainChecks = 0;
            _hasFailed = false;
            return;
        }

        if (_hasFailed || _stall.IsComputing)
        {
            return;
        }

        _waitChecks++;
        _certainChecks = wait == OwnerWait.Certain ? _certainChecks + 1 : 0;
        if (_certainChecks >= WaitChecks || _waitChecks >= UncertainWaitChecks)
        {
            // If that throws, the next check tries again.
            owner!.Fail(_stall.DurationMs);
            _hasFailed = true;
            _reactor.Counters.WaitsFailed++;
        }
    }
}
