namespace Millrace.Engine.Connections;

/// <summary>
/// Judges a peer by its rate. It has credit for a window; time takes from it, every byte gives back the time that it may take at
/// the least rate, and there is never more than the window. So silence ends it after the window, and being slower than the rate some
/// time later, but surely. Pure: the caller brings the clock and a count of bytes that only grows.
/// </summary>
internal sealed class RateWatch
{
    /// <summary>
    /// Looks are no closer than this part of the window: a credit that halves from look to look would be looked at without end.
    /// </summary>
    private const int LooksPerWindowMost = 8;

    /// <summary>
    /// Nor further apart than this part of it: what came right behind a look is credited at the next one, as if it had come then, and
    /// silence would last so much longer than it may.
    /// </summary>
    private const int LooksPerWindowLeast = 4;

    private long _windowMs;
    private int _bytesPerSecond;
    private long _creditMs;
    private long _lookedAtMs;
    private long _bytes;

    /// <summary>When to look next.</summary>
    public long NextLookMs =>
        _lookedAtMs + Math.Clamp(_creditMs, _windowMs / LooksPerWindowMost, _windowMs / LooksPerWindowLeast);

    /// <summary>Gives full credit. A rate of 0 asks for any byte at all within each window.</summary>
    public void Begin(long nowMs, long windowMs, int bytesPerSecond, long bytes)
    {
        _windowMs = windowMs;
        _bytesPerSecond = bytesPerSecond;
        _creditMs = windowMs;
        _lookedAtMs = nowMs;
        _bytes = bytes;
    }

    /// <summary>Goes on with the credit that is left: what was between does not count.</summary>
    public void Resume(long nowMs, long bytes)
    {
        _lookedAtMs = nowMs;
        _bytes = bytes;
    }

    /// <summary>Settles the account, and says whether the credit is used up.</summary>
    public bool IsTooSlow(long nowMs, long bytes)
    {
        Settle(nowMs, bytes);
        return _creditMs <= 0;
    }

    /// <summary>Takes the time since the last look from the credit, and gives back what the bytes since then are worth.</summary>
    public void Settle(long nowMs, long bytes)
    {
        long gained = Math.Max(0, bytes - _bytes);
        long earnedMs = gained == 0 ? 0 : _bytesPerSecond == 0 ? _windowMs : EarnedMs(gained);
        _creditMs = Math.Min(_windowMs, _creditMs - (nowMs - _lookedAtMs) + earnedMs);
        _lookedAtMs = nowMs;
        _bytes = bytes;
    }

    /// <summary>A gain that fills any window is not multiplied out: it would overflow.</summary>
    private long EarnedMs(long bytes) => bytes >= int.MaxValue ? long.MaxValue / 2 : bytes * 1000 / _bytesPerSecond;
}
