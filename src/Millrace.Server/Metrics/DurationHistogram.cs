namespace Millrace.Server.Metrics;

/// <summary>
/// How often durations of each size of <see cref="DurationScale"/> were seen. One thread writes, with plain stores; any reads, and may see
/// a duration counted in one place and not yet in the other.
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
