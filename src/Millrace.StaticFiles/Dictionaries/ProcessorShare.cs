namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// Keeps work to a share of one processor, by an account over all its pieces, however short they are and whatever begins them: the time
/// worked is a debt, which time pays at the rate of the share. After a slice the work pauses until nothing is owed. One thread.
/// </summary>
/// <param name="clock">The time.</param>
/// <param name="percent">The share; 100 for no limit.</param>
/// <param name="slice">How much may be owed while work goes on.</param>
internal sealed class ProcessorShare(TimeProvider clock, int percent, TimeSpan slice)
{
    private readonly double _share = percent / 100.0;

    /// <summary>What was owed when the present piece began, or the last one ended.</summary>
    private TimeSpan _owed;
    private long _at;
    private bool _isPausing;

    /// <summary>
    /// The time until work may begin again, as of the last call of <see cref="TryBegin"/> or <see cref="End"/>; null for now.
    /// </summary>
    public TimeSpan? Pause => _isPausing ? _owed / _share : null;

    /// <summary>Whether the present piece has to end.</summary>
    public bool IsSpent => percent < 100 && _owed + clock.GetElapsedTime(_at) >= slice;

    /// <summary>Begins a piece of work; false if there is a pause.</summary>
    public bool TryBegin()
    {
        long now = clock.GetTimestamp();
        TimeSpan left = _owed - (clock.GetElapsedTime(_at, now) * _share);

        // A timer may be early by less than a millisecond.
        _owed = left < TimeSpan.FromMilliseconds(1) ? TimeSpan.Zero : left;
        _at = now;
        _isPausing &= _owed > TimeSpan.Zero;
        return !_isPausing;
    }

    /// <summary>Ends the piece of work that was begun.</summary>
    public void End()
    {
        _isPausing = IsSpent;
        long now = clock.GetTimestamp();
        _owed += clock.GetElapsedTime(_at, now) * Math.Max(0, 1 - _share);
        _at = now;
    }
}
