using System.Diagnostics;
using Millrace.Engine.Listening;

namespace Millrace.Engine.Watching;

/// <summary>
/// One thread that looks at the pulses of a group's reactors every few milliseconds while any of them does something, and sleeps while
/// none does.
/// </summary>
internal sealed class StallWatch(IReadOnlyList<Reactor> reactors, Dealer dealer, EngineLog log, WatchBell bell)
{
    /// <summary>Quiet looks before it dozes: a process with a request now and then does not wake it each time.</summary>
    private const int QuietLooksMax = 10;

    private readonly WatchedReactor[] _watched = Watched(reactors, dealer, log);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile bool _isStopping;

    public void Start() => new Thread(Run) { IsBackground = true, Name = "millrace-watch" }.UnsafeStart();

    /// <summary>From here on connections that wait there are served by others while its reactor is held up. One caller at a time.</summary>
    public void Guard(Reactor reactor, Acceptor acceptor)
    {
        WatchedReactor watched = _watched[reactor.Index];
        watched.Acceptors = [.. watched.Acceptors.Where(static earlier => !earlier.Stopped.IsCompleted), acceptor];
    }

    /// <summary>After the reactors have ended.</summary>
    public async Task StopAsync()
    {
        _isStopping = true;
        bell.Wake();
        await _ended.Task;
        // Not by the watch's thread: it may have seen the flag before the bell was rung.
        bell.Dispose();
    }

    private static WatchedReactor[] Watched(IReadOnlyList<Reactor> reactors, Dealer dealer, EngineLog log)
    {
        var line = new StallLine();
        return [.. reactors.Select(reactor => new WatchedReactor(reactor, dealer, log, line))];
    }

    private void Run()
    {
        int quietLooks = 0;
        while (!_isStopping)
        {
            quietLooks = IsQuiet() ? quietLooks + 1 : 0;
            if (quietLooks < QuietLooksMax)
            {
                bell.Wait(StallTracker.PeriodMs);
            }
            else
            {
                bell.Doze(IsQuiet);
                quietLooks = 0;
            }
        }

        _ended.SetResult();
    }

    private bool IsQuiet()
    {
        // Not the coarse clock of TickCount64, whose steps of 4 ms are as long as the time between two looks.
        long nowMs = (long)Stopwatch.GetElapsedTime(0).TotalMilliseconds;
        bool isQuiet = !_isStopping;
        foreach (WatchedReactor watched in _watched)
        {
            isQuiet &= LookAt(watched, nowMs);
        }

        return isQuiet;
    }

    private bool LookAt(WatchedReactor watched, long nowMs)
    {
        try
        {
            return watched.Look(nowMs);
        }
#pragma warning disable CA1031 // Occupants are not ours: one that throws must not leave the reactors unwatched.
        catch (Exception error)
#pragma warning restore CA1031
        {
            log.OccupantFailed(error);
            return false;
        }
    }
}
