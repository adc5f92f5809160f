namespace Millrace.Engine.Watching;

/// <summary>
/// When the next line about a stall may be logged, and how many it speaks for: a handler that blocks does so at every request. The watch's
/// thread.
/// </summary>
internal sealed class StallLine
{
    private readonly LinePace _pace = new();
    private long _kept;

    /// <summary>Whether now; <paramref name="since"/> counts those kept back since the last one.</summary>
    public bool Admit(long nowMs, out long since)
    {
        since = _kept;
        if (!_pace.Admits(nowMs))
        {
            _kept++;
            return false;
        }

        _kept = 0;
        return true;
    }
}
