using System.Runtime.CompilerServices;

namespace Millrace.Engine.Loop;

/// <summary>
/// Checks and converts waiting times of callers: checked under the parameter's name, and added to a clock.
/// <see cref="Timeout.InfiniteTimeSpan"/> is no limit, represented as <see cref="Never"/>. Pure; any thread.
/// </summary>
internal static class TimeLimit
{
    public const long Never = long.MaxValue;

    /// <exception cref="ArgumentOutOfRangeException">The time is negative and not infinite.</exception>
    public static void Require(TimeSpan time, [CallerArgumentExpression(nameof(time))] string? name = null)
    {
        if (time != Timeout.InfiniteTimeSpan)
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(time, TimeSpan.Zero, name);
        }
    }

    /// <summary>When the time is over, rounded up to whole milliseconds.</summary>
    public static long After(long nowMs, TimeSpan time) =>
        time == Timeout.InfiniteTimeSpan ? Never : nowMs + (long)Math.Ceiling(time.TotalMilliseconds);
}
