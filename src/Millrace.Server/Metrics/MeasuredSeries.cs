namespace Millrace.Server.Metrics;

/// <summary>
/// The measurements of one instrument under one set of tags: a value, and for a histogram the bucket counts. Any thread may measure; each
/// reactor has its own tags, so that it alone writes its series.
/// </summary>
internal sealed class MeasuredSeries(TagSet tags, IReadOnlyList<double>? bounds)
{
    private readonly long[] _counts = bounds is null ? [] : new long[bounds.Count + 1];
    private long _valueBits;
    private long _mostBits;

    public TagSet Tags => tags;

    /// <summary>The value; for a histogram the sum of all measurements.</summary>
    public double Value => BitConverter.Int64BitsToDouble(Volatile.Read(ref _valueBits));

    /// <summary>The bounds of a histogram's buckets; null for other kinds.</summary>
    public IReadOnlyList<double>? Bounds => bounds;

    /// <summary>The last collection with a measurement: a series that is no longer observed is no longer shown.</summary>
    public long Round { get; set; }

    /// <summary>The count of one bucket; the last bucket holds measurements above all bounds.</summary>
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

    /// <summary>Adds a measurement to a histogram.</summary>
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

    /// <summary>Returns and resets the largest measurement since the previous call. One caller.</summary>
    public double TakeMost() => BitConverter.Int64BitsToDouble(Interlocked.Exchange(ref _mostBits, 0));

    private void Raise(double value)
    {
        // Bits of non-negative numbers have the order of the numbers.
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
