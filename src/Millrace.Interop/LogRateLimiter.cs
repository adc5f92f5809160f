namespace Millrace.Interop;

/// <summary>
/// Limits log lines of one kind that a client can cause: one line per request or client would fill a disk, and one per period, with the
/// number of suppressed lines, says as much. A line that is suppressed takes no lock. Any thread.
/// </summary>
/// <param name="pauseMs">The length of a period.</param>
/// <param name="burst">Lines per period: more than one where causes may differ.</param>
internal sealed class LogRateLimiter(long pauseMs = LogRateLimiter.UsualPauseMs, int burst = 1)
{
    private const long UsualPauseMs = 10_000;

    private readonly Lock _lock = new();

    /// <summary>The end of a period that has no line left; written under the lock.</summary>
    private long _fullUntilMs = long.MinValue;
    private long _beganMs = long.MinValue;
    private int _admitted;
    private long _suppressed;

    public bool Admits(long nowMs) => Admits(nowMs, out _);

    /// <summary>The same; <paramref name="suppressed"/> counts the lines suppressed since the last one that was admitted.</summary>
    public bool Admits(long nowMs, out long suppressed)
    {
        suppressed = 0;
        if (nowMs < Volatile.Read(ref _fullUntilMs))
        {
            Interlocked.Increment(ref _suppressed);
            return false;
        }

        lock (_lock)
        {
            if (_beganMs == long.MinValue || nowMs - _beganMs >= pauseMs)
            {
                _beganMs = nowMs;
                _admitted = 0;
            }

            if (_admitted == burst)
            {
                Interlocked.Increment(ref _suppressed);
                return false;
            }

            _admitted++;
            if (_admitted == burst)
            {
                Volatile.Write(ref _fullUntilMs, _beganMs + pauseMs);
            }

            suppressed = Interlocked.Exchange(ref _suppressed, 0);
            return true;
        }
    }
}
