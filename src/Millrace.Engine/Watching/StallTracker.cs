namespace Millrace.Engine.Watching;

/// <summary>What a look at a reactor says.</summary>
internal enum StallStep
{
    /// <summary>It rests, or gets on.</summary>
    None,

    /// <summary>One callback has lasted so long that it counts.</summary>
    Stalled,

    /// <summary>It lasts so long that others must step in.</summary>
    HeldUp,

    /// <summary>Still.</summary>
    StillHeldUp,

    /// <summary>It is over.</summary>
    Released,
}

/// <summary>
/// Tells from looks at a pulse how long a reactor has been in one callback, waiting or computing: the time in which it wanted a processor
/// and had none is not its callback's doing. Pure: the caller brings pulse, clock and a look at the thread, every few milliseconds.
/// </summary>
/// <param name="lookAtThread">Asked from the second look on at which nothing has moved.</param>
internal sealed class StallTracker(Func<ThreadSight> lookAtThread)
{
    /// <summary>
    /// Between two looks. A look stands for no more, so that a process that was stopped, or collects garbage, has not stalled.
    /// </summary>
    public const int PeriodMs = 5;

    /// <summary>A callback of so long is felt by those behind it.</summary>
    public const int StallMs = 10;

    /// <summary>A callback of so long is no computation any more: it waits, perhaps for its own reactor.</summary>
    public const int HeldUpMs = 100;

    private long _beats = 1;
    private long _lookedAtMs;
    private long _sinceMs;
    private long _seenMs;
    private long? _ranMs;

    /// <summary>Whether the reactor rested through since the last look.</summary>
    public bool IsQuiet { get; private set; }

    /// <summary>How long the present callback, or the one that a release has ended, was seen, by the clock.</summary>
    public long DurationMs { get; private set; }

    /// <summary>Whether its thread was computing at the last look, or about to: it was not blocked.</summary>
    public bool IsComputing { get; private set; }

    public StallStep Look(long beats, long nowMs)
    {
        long passedMs = Math.Min(nowMs - _lookedAtMs, PeriodMs);
        _lookedAtMs = nowMs;
        bool isSame = beats == _beats;
        bool isAtRest = Pulse.IsAtRest(beats);
        IsQuiet = isSame && isAtRest;
        DurationMs = nowMs - _sinceMs;
        if (isSame && !isAtRest)
        {
            return Lengthen(AttributableMs(passedMs));
        }

        bool wasHeldUp = _seenMs >= HeldUpMs;
        _beats = beats;
        _sinceMs = nowMs;
        _seenMs = 0;
        _ranMs = null;
        return wasHeldUp ? StallStep.Released : StallStep.None;
    }

    /// <summary>At the first look there is nothing to compare with.</summary>
    private long AttributableMs(long passedMs)
    {
        ThreadSight thread = lookAtThread();
        long? ranBeforeMs = _ranMs;
        _ranMs = thread.RanMs;
        IsComputing = thread.IsRunnable;
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
