namespace Millrace.Server.Metrics;

/// <summary>Computes quantiles from counts by <see cref="DurationScale"/>.</summary>
internal static class Quantiles
{
    /// <summary>The duration that the given share of requests does not exceed, in ticks; null without counts.</summary>
    public static long? At(ReadOnlySpan<long> counts, double share)
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
        return (DurationScale.TicksAt(index) + DurationScale.TicksAt(index + 1)) / 2;
    }
}
