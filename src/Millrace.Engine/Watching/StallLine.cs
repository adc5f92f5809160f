namespace Millrace.Engine.Watching;

/// <summary>
/// When the next line about a stall may be logged: a handler that blocks does so at every request, and one line in ten seconds tells as
/// much. The watch's thread.
/// </summary>
internal sealed class StallLine
{
    private const int PauseMs = 10_000;

    private long _nextMs;
    private long _kept;

    /// <summary>Whether now; <paramref name="since"/> counts those kept back since the last one.</summary>
    public bool Admit(long nowMs, out long since)
    {
        since = _kept;
        if (nowMs < _nextMs)
        {
            _kept++;
            return false;
        }

        _nextMs = nowMs + PauseMs;
        _kept = 0;
        return true;
    }
}
