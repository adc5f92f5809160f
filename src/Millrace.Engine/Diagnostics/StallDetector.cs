namespace Millrace.Engine.Diagnostics;

/// <summary>
/// Computes from samples of a heartbeat how long a reactor has been in one callback, waiting or computing; time in which its thread was
/// runnable without a processor does not count. Pure: the caller passes heartbeat, clock and a thread sample every few milliseconds.
/// </summary>
/// <param name="sampleThread">Called at each check at which the reactor is not idle.</param>
internal sealed class StallDetector(Func<ThreadSample> sampleThread)
{
    /// <summary>
    /// Time between two checks. A check counts for no more, so that a stopped process or a garbage collection is not a stall.
    /// </summary>
    public const int PeriodMs = 5;

    /// <summary>A callback this long delays all other connections noticeably; perhaps it waits for its own reactor.</summary>
    public const int StallMs = 100;

    private long _beats = 1;
    private long _checkedAtMs;
    private long _sinceMs;
    private long? _ranMs;

    /// <summary>Whether the reactor has waited in the kernel since the last check.</summary>
    public bool IsQuiet { get; private set; }

    /// <summary>Whether the reactor is in the same callback as at the last check.</summary>
    public bool IsStuck { get; private set; }

    /// <summary>How long the current callback, or the one that has just ended, has lasted by the clock.</summary>
    public long DurationMs { get; private set; }

    /// <summary>How long the current callback was seen to wait or compute.</summary>
    public long StalledMs { get; private set; }

    /// <summary>For how much of the current callback its thread was neither running nor runnable.</summary>
    public long BlockedMs { get; private set; }

    /// <summary>
    /// The time since the last check for which the thread counts as blocked in a callback: all or nothing. Over many checks that adds up to
    /// the true time, however short the callbacks are.
    /// </summary>
    public long BlockedSinceLastMs { get; private set; }

    public bool IsComputing { get; private set; }

    public void Sample(long beats, long nowMs)
    {
        long passedMs = Math.Min(nowMs - _checkedAtMs, PeriodMs);
        _checkedAtMs = nowMs;
        bool isWaiting = LoopHeartbeat.IsWaitingAt(beats);
        IsQuiet = beats == _beats && isWaiting;
        IsStuck = beats == _beats && !isWaiting;
        DurationMs = nowMs - _sinceMs;
        ThreadSample thread = isWaiting ? default : sampleThread();
        BlockedSinceLastMs = thread is { IsKnown: true, IsRunnable: false } ? passedMs : 0;
        if (!IsStuck)
        {
            _beats = beats;
            _sinceMs = nowMs;
            _ranMs = null;
            StalledMs = BlockedMs = 0;
            return;
        }

        IsComputing = thread.IsRunnable;
        BlockedMs += IsComputing ? 0 : passedMs;
        // The first check of a callback has nothing to compare with.
        StalledMs += IsComputing && _ranMs is { } ranMs ? thread.RanMs - ranMs : passedMs;
        _ranMs = thread.RanMs;
    }
}
