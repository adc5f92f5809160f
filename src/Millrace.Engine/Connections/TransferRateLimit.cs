namespace Millrace.Engine.Connections;

/// <summary>
/// Judges a peer by its rate. The credit starts at one window and never exceeds it; time reduces it, and every byte restores the time it
/// may take at the minimum rate. So silence exhausts it after one window, and a rate below the minimum some time later. Pure: the caller
/// passes the clock and a monotonic byte count.
/// </summary>
internal sealed class TransferRateLimit
{
    /// <summary>
    /// Checks are at least this part of the window apart: with a credit that halves from check to check they would never end.
    /// </summary>
    private const int ChecksPerWindowMax = 8;

    /// <summary>
    /// And at most this part: bytes that arrive right after a check are credited at the next one, as if they had arrived then, which
    /// prolongs the permitted silence by as much.
    /// </summary>
    private const int ChecksPerWindowMin = 4;

    private long _windowMs;
    private int _bytesPerSecond;
    private long _creditMs;
    private long _checkedAtMs;
    private long _bytes;

    public long NextCheckMs =>
        _checkedAtMs + Math.Clamp(_creditMs, _windowMs / ChecksPerWindowMax, _windowMs / ChecksPerWindowMin);

    /// <summary>Gives full credit. A rate of 0 requires any byte within each window.</summary>
    public void Begin(long nowMs, long windowMs, int bytesPerSecond, long bytes)
    {
        _windowMs = windowMs;
        _bytesPerSecond = bytesPerSecond;
        _creditMs = windowMs;
        _checkedAtMs = nowMs;
        _bytes = bytes;
    }

    /// <summary>Continues with the remaining credit: the time since the last check does not count.</summary>
    public void Resume(long nowMs, long bytes)
    {
        _checkedAtMs = nowMs;
        _bytes = bytes;
    }

    /// <summary>Updates the credit; true when it is used up.</summary>
    public bool IsTooSlow(long nowMs, long bytes)
    {
        Settle(nowMs, bytes);
        return _creditMs <= 0;
    }

    /// <summary>Deducts the time since the last check from the credit and adds what the bytes since then are worth.</summary>
    public void Settle(long nowMs, long bytes)
    {
        long gained = Math.Max(0, bytes - _bytes);
        long earnedMs = gained == 0 ? 0 : _bytesPerSecond == 0 ? _windowMs : EarnedMs(gained);
        _creditMs = Math.Min(_windowMs, _creditMs - (nowMs - _checkedAtMs) + earnedMs);
        _checkedAtMs = nowMs;
        _bytes = bytes;
    }

    /// <summary>A large gain, which fills any window, is not multiplied out: it would overflow.</summary>
    private long EarnedMs(long bytes) => bytes >= int.MaxValue ? long.MaxValue / 2 : bytes * 1000 / _bytesPerSecond;
}
