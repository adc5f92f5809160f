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
            try
            {
                isQuiet &= watched.Check(nowMs);
            }
#pragma warning disable CA1031 // Callback owners are foreign code: one that throws must not leave the reactors unwatched.
            catch (Exception error)
#pragma warning restore CA1031
            {
                log.CallbackOwnerFailed(error);
                isQuiet = false;
            }
        }

        return isQuiet;
    }
}
