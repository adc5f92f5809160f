using System.Numerics;

namespace Millrace.Server.Metrics;

/// <summary>
/// Counts durations by the buckets of <see cref="DurationScale"/>. One thread writes, with plain stores; any thread reads, and may see a
/// duration in the count but not yet in the sum.
/// </summary>
internal sealed class DurationHistogram
{
    private readonly long[] _counts = new long[DurationScale.Buckets];
    private long _sumTicks;

    public long SumTicks => Volatile.Read(ref _sumTicks);

    public void Record(long ticks)
    {
        _counts[DurationScale.IndexOf(ticks)]++;
        _sumTicks += ticks;
    }

    public void AddTo(Span<long> sums)
    {
        for (int i = 0; i < _counts.Length; i++)
        {
            sums[i] += Volatile.Read(ref _counts[i]);
        }
    }
}

/// <summary>
/// Logarithmic buckets for durations: two significant decimal digits, from 100 ns (a tick of <see cref="TimeSpan"/>) to hours. A quantile
/// is accurate to 10 % at worst, and every common bound (0.1 s, 2.5 ms) is the edge of a bucket.
/// </summary>
internal static class DurationScale
{
    /// <summary>Below a hundred ticks each value has its own bucket.</summary>
    private const int Linear = 100;

    /// <summary>Buckets of each further power of ten: from 10 to 99.</summary>
    private const int PerDecade = 90;

    /// <summary>Nearly three hours, longer than any request.</summary>
    private const long TicksMost = 99_999_999_999;

    private static readonly long[] Powers =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];

    public static readonly int Buckets = IndexOf(TicksMost) + 1;

    /// <summary>The bucket of a duration; longer ones share the last.</summary>
    public static int IndexOf(long ticks)
    {
        if (ticks < Linear)
        {
            return (int)Math.Max(ticks, 0);
        }

        ticks = Math.Min(ticks, TicksMost);

        // Decimal digits from the binary length: 1233 / 4096 approximates log10(2), and the table corrects the rounding.
        int digits = ((BitOperations.Log2((ulong)ticks) + 1) * 1233) >> 12;
        digits += ticks >= Powers[digits] ? 1 : 0;
        int decade = digits - 2;
        return (int)(ticks / Powers[decade]) + (decade * PerDecade);
    }

    /// <summary>The lower bound of a bucket, which is the upper bound of the previous one.</summary>
    public static long TicksAt(int index)
    {
        if (index < Linear)
        {
            return index;
        }

        int decade = (index - 10) / PerDecade;
        return (index - (decade * PerDecade)) * Powers[decade];
    }

    /// <summary>The duration that the given share of counted durations does not exceed, in ticks; null without counts.</summary>
    public static long? QuantileOf(ReadOnlySpan<long> counts, double share)
    {
        long total = 0;
        foreach (long count in counts)
        {
            total += count;
        }

        if (total == 0)
        {
            return null;
        }

        long left = Math.Max(1, (long)Math.Ceiling(total * share));
        int index = 0;
        while ((left -= counts[index]) > 0)
        {
            index++;
        }

        // The middle of the bucket minimizes the error.
        return (TicksAt(index) + TicksAt(index + 1)) / 2;
    }
}
