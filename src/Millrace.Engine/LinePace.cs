namespace Millrace.Engine;

/// <summary>
/// When a log line of one kind may be written again: what comes at every request or from every client would fill a disk, and one line in
/// a while tells as much. Any thread.
/// </summary>
internal sealed class LinePace(long pauseMs = LinePace.UsualPauseMs)
{
    private const long UsualPauseMs = 10_000;

    private long _nextMs;

    /// <summary>Whether one may be written now; of several who ask at once, one may.</summary>
    public bool Admits(long nowMs)
    {
        long next = Volatile.Read(ref _nextMs);
        return nowMs >= next && Interlocked.CompareExchange(ref _nextMs, nowMs + pauseMs, next) == next;
    }
}
