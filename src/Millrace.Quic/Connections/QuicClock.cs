namespace Millrace.Quic.Connections;

/// <summary>Units of time: all times are nanoseconds of a monotonic clock that the caller reads.</summary>
internal static class QuicClock
{
    public const long Microsecond = 1_000;
    public const long Millisecond = 1_000_000;
    public const long Second = 1_000_000_000;

    /// <summary>A timer that is not set.</summary>
    public const long Never = long.MaxValue;

    /// <summary>A time after another, without overflow.</summary>
    public static long After(long now, long duration) => now > Never - duration ? Never : now + duration;
}
