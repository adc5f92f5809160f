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
