using System.Collections.Immutable;
using System.Diagnostics;
using Millrace.Engine.Listening;
using Millrace.Interop;

namespace Millrace.Engine.Diagnostics;

/// <summary>
/// Stall watchdog: one thread that checks the heartbeats of a group's reactors every few milliseconds while any of them is active, and
/// sleeps while none is.
/// </summary>
internal sealed class StallWatchdog(
    IReadOnlyList<Reactor> reactors, ConnectionBalancer balancer, EngineLog log, WatchdogEvent wakeEvent) : IDisposable
{
    /// <summary>Quiet checks before it sleeps: an occasional request does not wake it each time.</summary>
    private const int QuietChecksMax = 10;

    private readonly ReactorWatchdog[] _watched = Watched(reactors, balancer, log);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile bool _isStopping;

    public void Start()
    {
        foreach (ReactorWatchdog watched in _watched)
        {
            watched.Begin();
        }

        new Thread(Run) { IsBackground = true, Name = "millrace-watch" }.UnsafeStart();
    }

    /// <summary>From now on the acceptor's connections are distributed while its reactor is blocked. Any thread.</summary>
    public void Guard(Reactor reactor, Acceptor acceptor) => _watched[reactor.Index].Guard(acceptor);

    /// <summary>The acceptor has stopped. Any thread.</summary>
    public void Leave(Reactor reactor, Acceptor acceptor) => _watched[reactor.Index].Leave(acceptor);

    /// <summary>Called after the reactors have ended.</summary>
    public async Task StopAsync()
    {
        _isStopping = true;
        wakeEvent.Wake();
        await _ended.Task;
        // Not by the watchdog's thread: it may see the flag before Wake is called.
        wakeEvent.Dispose();
    }

    /// <summary>In place of <see cref="StopAsync"/> where the watchdog was never started.</summary>
    public void Dispose() => wakeEvent.Dispose();

    private static ReactorWatchdog[] Watched(IReadOnlyList<Reactor> reactors, ConnectionBalancer balancer, EngineLog log)
    {
        var line = new LogRateLimiter();
        return [.. reactors.Select(reactor => new ReactorWatchdog(reactor, balancer, log, line))];
    }

    private void Run()
    {
        int quietChecks = 0;
        while (!_isStopping)
        {
            quietChecks = IsQuiet() ? quietChecks + 1 : 0;
            if (quietChecks < QuietChecksMax)
            {
                wakeEvent.Wait(StallDetector.PeriodMs);
            }
            else
            {
                wakeEvent.Sleep(IsQuiet);
                quietChecks = 0;
            }
        }

        foreach (ReactorWatchdog watched in _watched)
        {
            watched.Dispose();
        }

        _ended.SetResult();
    }

    private bool IsQuiet()
    {
        // Not TickCount64, a coarse clock whose steps of 4 ms are as long as the time between two checks.
        long nowMs = (long)Stopwatch.GetElapsedTime(0).TotalMilliseconds;
        bool isQuiet = !_isStopping;
        foreach (ReactorWatchdog watched in _watched)
        {
            isQuiet &= Check(watched, nowMs);
        }

        return isQuiet;
    }

    private bool Check(ReactorWatchdog watched, long nowMs)
    {
        try
        {
            return watched.Check(nowMs);
        }
#pragma warning disable CA1031 // Callback owners are foreign code: one that throws must not leave the reactors unwatched.
        catch (Exception error)
#pragma warning restore CA1031
        {
            log.CallbackOwnerFailed(error);
            return false;
        }
    }
}

/// <summary>
/// Watches one reactor and acts while it is blocked. Its connections wait, as no other thread may touch them, but new connections and
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
    private readonly StallDetector _tracker;
    private ImmutableArray<Acceptor> _acceptors = [];
    private int _waitChecks;
    private int _certainChecks;
    private bool _hasFailed;
    private bool _isFirstCall;
    private bool _isDecided;
    private bool _isReported;

    public ReactorWatchdog(Reactor reactor, ConnectionBalancer balancer, EngineLog log, LogRateLimiter line)
    {
        _reactor = reactor;
        _balancer = balancer;
        _log = log;
        _line = line;
        _thread = new ThreadInspector(reactor);
        _tracker = new StallDetector(_thread.Sample);
    }

    /// <summary>Opens what it needs, before the first check. The reactor runs.</summary>
    public void Begin() => _thread.Open();

    /// <summary>Adds an acceptor of the reactor. Any thread.</summary>
    public void Guard(Acceptor acceptor) => ImmutableInterlocked.Update(ref _acceptors, static (all, one) => all.Add(one), acceptor);

    /// <summary>Removes an acceptor of the reactor. Any thread.</summary>
    public void Leave(Acceptor acceptor) => ImmutableInterlocked.Update(ref _acceptors, static (all, one) => all.Remove(one), acceptor);

    /// <summary>Checks the reactor and acts. True when it has waited in the kernel since the last check.</summary>
    public bool Check(long nowMs)
    {
        long beats = _reactor.Heartbeat.Count;
        StallStep step = _tracker.Sample(beats, nowMs);
        // If the reactor has moved on meanwhile, its thread may have been sampled while it was idle.
        if (_tracker.BlockedSinceLastMs > 0 && _reactor.CallbackOwner is { } owner && _reactor.Heartbeat.Count == beats)
        {
            _reactor.Counters.BlockedMs += _tracker.BlockedSinceLastMs;
            owner.NoteBlocked(beats, _tracker.BlockedSinceLastMs);
        }

        switch (step)
        {
            case StallStep.Stalled:
                _reactor.Counters.Stalls++;
                break;
            case StallStep.HeldUp:
                BeginHoldUp();
                ReportOnce(nowMs);
                StepIn();
                break;
            case StallStep.StillHeldUp:
                ReportOnce(nowMs);
                StepIn();
                break;
            case StallStep.Released:
                End();
                break;
            case StallStep.None:
            default:
                break;
        }

        if (_tracker.IsStuck)
        {
            _reactor.CallbackOwner?.Relieve();
        }

        return _tracker.IsQuiet;
    }

    public void Dispose() => _thread.Dispose();

    private void BeginHoldUp()
    {
        _reactor.Counters.HoldUps++;
        _reactor.IsHeldUp = true;
        // Recorded at the start: another call of the same code may end while this one lasts. With no known owner, a reactor's first
        // connection counts as the first call of its handlers.
        _isFirstCall = _reactor.CallbackOwner?.BeginHoldUp() ?? _reactor.Counters.Accepted <= 1;
        _isDecided = false;
        ForgetWait();
    }

    /// <summary>Logs the current stall once it is one that needs attention.</summary>
    private void ReportOnce(long nowMs)
    {
        if (_isDecided || (_isFirstCall && (_tracker.DurationMs < FirstCallMs || !_tracker.IsMostlyBlocked)))
        {
            return;
        }

        _isDecided = true;
        if (_line.Admits(nowMs, out long since))
        {
            // Set only after the log line: if Describe throws, nothing was logged whose end could be.
            _log.HeldUp(_reactor.Index, _tracker.DurationMs, _reactor.CallbackOwner?.Describe() ?? "an unknown callback", since);
            _isReported = true;
        }
    }

    private void StepIn()
    {
        _reactor.HandOver();
        if (_balancer.HasFree)
        {
            foreach (Acceptor acceptor in _acceptors)
            {
                acceptor.DistributeQueue(_balancer.Distribute);
            }
        }

        ICallbackOwner? owner = _reactor.CallbackOwner;
        OwnerWait wait = owner?.Wait ?? OwnerWait.None;
        if (wait == OwnerWait.None)
        {
            ForgetWait();
        }
        else if (!_hasFailed && !_tracker.IsComputing && HasWaitedLong(wait))
        {
            // If that throws, the next check tries again.
            owner!.Fail(_tracker.DurationMs);
            _hasFailed = true;
            _reactor.Counters.WaitsFailed++;
        }
    }

    /// <summary>Each kind has its own count: a wait that has just begun has had no time to end by itself.</summary>
    private bool HasWaitedLong(OwnerWait wait)
    {
        _waitChecks++;
        _certainChecks = wait == OwnerWait.Certain ? _certainChecks + 1 : 0;
        return _certainChecks >= WaitChecks || _waitChecks >= UncertainWaitChecks;
    }

    private void ForgetWait()
    {
        _waitChecks = _certainChecks = 0;
        _hasFailed = false;
    }

    private void End()
    {
        _reactor.IsHeldUp = false;
        if (_isReported)
        {
            _isReported = false;
            _log.Released(_reactor.Index, _tracker.DurationMs);
        }
    }
}

/// <summary>How sure it is that a callback owner waits for what only its own reactor can bring.</summary>
internal enum OwnerWait
{
    None,

    /// <summary>A wait began in an earlier callback and may belong to other code: one part reads on while another works.</summary>
    Possible,

    /// <summary>The wait began in the callback that blocks the reactor, and is taken for the cause.</summary>
    Certain,
}
