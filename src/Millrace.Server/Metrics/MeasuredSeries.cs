namespace Millrace.Server.Metrics;

/// <summary>
/// What was measured by one instrument under one set of tags: a number, and for a histogram how often each bound was not exceeded. Any
/// thread may measure; a reactor has tags of its own, so that its series is written by it alone.
/// </summary>
internal sealed class MeasuredSeries(TagSet tags, IReadOnlyList<double>? bounds)
{
    private readonly long[] _counts = bounds is null ? [] : new long[bounds.Count + 1];
    private long _valueBits;
    private long _mostBits;

    public TagSet Tags => tags;

    /// <summary>The number; for a histogram the sum of all.</summary>
    public double Value => BitConverter.Int64BitsToDouble(Volatile.Read(ref _valueBits));

    /// <summary>The bounds of a histogram's buckets; null for what is none.</summary>
    public IReadOnlyList<double>? Bounds => bounds;

    /// <summary>The collection it was last measured in: what an instrument observes no more is shown no more.</summary>
    public long Round { get; set; }

    /// <summary>How many measurements fell below each bound and above the one before; the last are those above all.</summary>
    public long CountAt(int bucket) => Volatile.Read(ref _counts[bucket]);

    public void Set(double value) => Volatile.Write(ref _valueBits, BitConverter.DoubleToInt64Bits(value));

    public void Add(double value)
    {
        long seen = Volatile.Read(ref _valueBits);
        long before;
        do
        {
            before = seen;
            long sum = BitConverter.DoubleToInt64Bits(BitConverter.Int64BitsToDouble(before) + value);
            seen = Interlocked.CompareExchange(ref _valueBits, sum, before);
        }
        while (seen != before);
    }

    /// <summary>Counts a measurement of a histogram.</summary>
    public void Count(double value)
    {
        int bucket = 0;
        while (bucket < bounds!.Count && value > bounds[bucket])
        {
            bucket++;
        }

        Interlocked.Increment(ref _counts[bucket]);
        Add(value);
        Raise(value);
    }

    /// <summary>The largest measurement since this was last asked for. One asks.</summary>
    public double TakeMost() => BitConverter.Int64BitsToDouble(Interlocked.Exchange(ref _mostBits, 0));

    private void Raise(double value)
    {
        // Numbers that are not negative are ordered as their bits are.
        long bits = BitConverter.DoubleToInt64Bits(Math.Max(value, 0));
        long seen = Volatile.Read(ref _mostBits);
        while (bits > seen)
        {
            long before = Interlocked.CompareExchange(ref _mostBits, bits, seen);
            if (before == seen)
            {
                return;
            }

            seen = before;
        }
    }
}
