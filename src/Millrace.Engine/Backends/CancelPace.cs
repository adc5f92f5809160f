namespace Millrace.Engine.Backends;

/// <summary>
/// When an operation that was told to end, and has not, is told again. A cancel finds what waits, and can miss what is just between two
/// waits (-ENOENT), or on a worker of io_uring's (-EALREADY: it is interrupted once, and may begin again): a send whose peer takes
/// nothing would then be waited for without an end. What cannot be interrupted, a read from a disk that does not answer, costs one
/// operation in eight seconds.
/// </summary>
internal struct CancelPace
{
    /// <summary>Long enough for most that ends to have ended, and less than a reactor gives at its drain deadline.</summary>
    public const int FirstMs = 250;

    public const int MostMs = 8_000;

    private int _pauseMs;

    /// <summary>When to ask again, having asked now.</summary>
    public long NextMs(long nowMs)
    {
        _pauseMs = _pauseMs == 0 ? FirstMs : Math.Min(_pauseMs * 2, MostMs);
        return nowMs + _pauseMs;
    }
}
