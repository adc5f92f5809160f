namespace Millrace.Engine.Diagnostics;

/// <summary>The result of a check.</summary>
internal enum StallStep
{
    /// <summary>The reactor is idle or makes progress.</summary>
    None,

    /// <summary>One callback has lasted long enough to count as a stall.</summary>
    Stalled,

    /// <summary>It has lasted so long that the watchdog must act.</summary>
    HeldUp,

    /// <summary>As before.</summary>
    StillHeldUp,

    /// <summary>It has ended.</summary>
    Released,
}

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

    /// <summary>A callback this long delays others noticeably.</summary>
    public const int StallMs = 10;

    /// <summary>A callback this long is not computation any more: it waits, perhaps for its own reactor.</summary>
    public const int HeldUpMs = 100;

    private long _beats = 1;
    private long _checkedAtMs;
    private long _sinceMs;
    private long _seenMs;
    private long? _ranMs;

    /// <summary>Whether the reactor has waited in the kernel since the last check.</summary>
    public bool IsQuiet { get; private set; }

    /// <summary>Whether the reactor is in the same callback as at the last check.</summary>
    public bool IsStuck { get; private set; }

    /// <summary>How long the current callback, or the one that has just ended, has lasted by the clock.</summary>
    public long DurationMs { get; private set; }

    /// <summary>For how much of the current callback its thread was neither running nor runnable.</summary>
    public long BlockedMs { get; private set; }

    /// <summary>Whether that is at least half of the observed time.</summary>
    public bool IsMostlyBlocked => 2 * BlockedMs >= _seenMs;

    /// <summary>
    /// The time since the last check for which the thread counts as blocked in a callback: all or nothing. Over many checks that adds up to
    /// the true time, however short the callbacks are.
    /// </summary>
    public long BlockedSinceLastMs { get; private set; }

    /// <summary>Whether the thread was runnable at the last check, and so not blocked.</summary>
    public bool IsComputing { get; private set; }

    public StallStep Sample(long beats, long nowMs)
    {
        long passedMs = Math.Min(nowMs - _checkedAtMs, PeriodMs);
        _checkedAtMs = nowMs;
        bool isSame = beats == _beats;
        bool isWaiting = LoopHeartbeat.IsWaitingAt(beats);
        IsQuiet = isSame && isWaiting;
        IsStuck = isSame && !isWaiting;
        DurationMs = nowMs - _sinceMs;
        ThreadSample thread = isWaiting ? default : sampleThread();
        BlockedSinceLastMs = thread is { IsKnown: true, IsRunnable: false } ? passedMs : 0;
        if (IsStuck)
        {
            return Lengthen(AttributableMs(thread, passedMs));
        }

        bool wasHeldUp = _seenMs >= HeldUpMs;
        _beats = beats;
        _sinceMs = nowMs;
        _seenMs = 0;
        _ranMs = null;
        BlockedMs = 0;
        return wasHeldUp ? StallStep.Released : StallStep.None;
    }

    /// <summary>The first check has nothing to compare with.</summary>
    private long AttributableMs(ThreadSample thread, long passedMs)
    {
        long? ranBeforeMs = _ranMs;
        _ranMs = thread.RanMs;
        IsComputing = thread.IsRunnable;
        BlockedMs += thread.IsRunnable ? 0 : passedMs;
        return thread.IsRunnable && ranBeforeMs is { } ranMs ? thread.RanMs - ranMs : passedMs;
    }

    private StallStep Lengthen(long passedMs)
    {
        long beforeMs = _seenMs;
        _seenMs += passedMs;
        if (_seenMs >= HeldUpMs)
        {
            return beforeMs < HeldUpMs ? StallStep.HeldUp : StallStep.StillHeldUp;
        }

        return beforeMs < StallMs && _seenMs >= StallMs ? StallStep.Stalled : StallStep.None;
    }
}
