namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// What a peer may still waste, exactly by the limits: it has a window of time; while it is waited for time takes from it, and every
/// byte gives back the time that it may take at the least rate, never to more than the window. Counted at every byte, where the server
/// looks now and then, which is to the peer's advantage: the server's account is never below this one.
/// </summary>
internal sealed class Credit(TimeSpan window, int bytesPerSecond)
{
    private double _leftMs = window.TotalMilliseconds;
    private long _atMs;
    private long _pausedAtMs = -1;

    public double WindowMs => window.TotalMilliseconds;

    /// <summary>When it began to run, or bytes came last.</summary>
    public long MovedAtMs { get; private set; }

    /// <summary>Whether somebody waits.</summary>
    public bool IsRunning { get; private set; }

    /// <param name="nowMs">The present.</param>
    /// <param name="grantMs">What it is given for a new beginning, be it beyond the window.</param>
    public void Run(long nowMs, double grantMs = 0)
    {
        if (IsRunning)
        {
            return;
        }

        IsRunning = true;
        _atMs = nowMs;
        if (nowMs != _pausedAtMs)
        {
            MovedAtMs = nowMs;
            _leftMs = Math.Min(WindowMs, _leftMs) + grantMs;
        }
    }

    public void Pause(long nowMs)
    {
        Settle(nowMs);
        IsRunning = false;
        _pausedAtMs = nowMs;
    }

    /// <summary>Bytes came; those of a pause are of no use, unless it may turn out to be none.</summary>
    /// <param name="nowMs">The present.</param>
    /// <param name="bytes">How many.</param>
    /// <param name="inPauseOfNoTime">Whether what comes in the millisecond in which the pause began counts as if it had not begun.</param>
    public void Take(long nowMs, int bytes, bool inPauseOfNoTime = false)
    {
        if (IsRunning || (inPauseOfNoTime && nowMs == _pausedAtMs))
        {
            Settle(nowMs);
            double earnedMs = bytesPerSecond == 0 ? WindowMs : bytes * 1000.0 / bytesPerSecond;
            _leftMs = Math.Min(Math.Max(WindowMs, _leftMs), _leftMs + earnedMs);
            MovedAtMs = nowMs;
        }
    }

    /// <summary>Nothing that was before counts any more.</summary>
    public void Renew(long nowMs, double grantMs)
    {
        _leftMs = WindowMs + grantMs;
        _atMs = nowMs;
    }

    public double LeftMs(long nowMs) => IsRunning ? _leftMs - (nowMs - _atMs) : _leftMs;

    private void Settle(long nowMs)
    {
        _leftMs = LeftMs(nowMs);
        _atMs = nowMs;
    }
}
