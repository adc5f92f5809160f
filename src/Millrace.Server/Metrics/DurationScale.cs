using System.Numerics;

namespace Millrace.Server.Metrics;

/// <summary>
/// Buckets for durations, as a slide rule has them: two significant decimal digits, from 100 ns (a tick of <see cref="TimeSpan"/>) to
/// hours. So a quantile is right to a tenth at worst, and every bound that people ask about (0.1 s, 2.5 ms) is the edge of a bucket.
/// </summary>
internal static class DurationScale
{
    /// <summary>Below a hundred ticks each number has a bucket of its own.</summary>
    private const int Linear = 100;

    /// <summary>From 10 to 99 of each further power of ten.</summary>
    private const int PerDecade = 90;

    /// <summary>Nearly three hours: nothing that is answered takes as long.</summary>
    private const long TicksMost = 99_999_999_999;

    private static readonly long[] Powers =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];

    public static readonly int Buckets = IndexOf(TicksMost) + 1;

    /// <summary>The bucket of a duration; what is longer than the scale has the last.</summary>
    public static int IndexOf(long ticks)
    {
        if (ticks < Linear)
        {
            return (int)Math.Max(ticks, 0);
        }

        ticks = Math.Min(ticks, TicksMost);

        // Digits of a number by the length of its binary form: 1233 / 4096 is log10(2), and the table corrects what that rounds.
        int digits = ((BitOperations.Log2((ulong)ticks) + 1) * 1233) >> 12;
        digits += ticks >= Powers[digits] ? 1 : 0;
        int decade = digits - 2;
        return (int)(ticks / Powers[decade]) + (decade * PerDecade);
    }

    /// <summary>The least duration of a bucket, which is also where the one before it ends.</summary>
    public static long TicksAt(int index)
    {
        if (index < Linear)
        {
            return index;
        }

        int decade = (index - 10) / PerDecade;
        return (index - (decade * PerDecade)) * Powers[decade];
    }
}
