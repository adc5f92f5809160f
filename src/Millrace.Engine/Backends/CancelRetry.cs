namespace Millrace.Engine.Backends;

/// <summary>
/// The pauses between repeated cancels of an operation that has not ended. A cancel finds a waiting operation, but can miss one that is
/// between two waits (-ENOENT) or on an io_uring worker (-EALREADY: it is interrupted once, and may start again): a send whose peer reads
/// nothing would then never end. An operation that cannot be interrupted, such as a read from a dead disk, costs one cancel in eight
/// seconds.
/// </summary>
internal struct CancelRetry
{
    /// <summary>Long enough for most cancels to take effect, and less than the grace period after the drain deadline.</summary>
    public const int FirstMs = 250;

    public const int MaxMs = 8_000;

    private int _pauseMs;

    /// <summary>When to cancel again, after a cancel now.</summary>
    public long NextMs(long nowMs)
    {
        _pauseMs = _pauseMs == 0 ? FirstMs : Math.Min(_pauseMs * 2, MaxMs);
        return nowMs + _pauseMs;
    }
}
