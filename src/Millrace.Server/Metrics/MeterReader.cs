using System.Diagnostics.Metrics;

namespace Millrace.Server.Metrics;

/// <summary>
/// Listens to meters of this process and stores their measurements. <see cref="Collect"/> reads observable instruments on the caller's
/// thread. Any thread.
/// </summary>
internal sealed class MeterReader : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly Lock _collecting = new();

    /// <summary>In the order of publication. Immutable; replaced as a whole.</summary>
    private MeasuredInstrument[] _instruments = [];
    private long _round;

    /// <param name="takes">Selects instruments; others are not measured for this reader.</param>
    public MeterReader(Func<Instrument, bool> takes)
    {
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            if (takes(instrument))
            {
                var measured = new MeasuredInstrument(instrument);
                Change(instruments => [.. instruments, measured]);
                listener.EnableMeasurementEvents(instrument, measured);
            }
        };
        _listener.MeasurementsCompleted = (_, state) => Change(instruments => [.. instruments.Where(one => one != state)]);
        _listener.SetMeasurementEventCallback<int>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<long>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<double>((_, value, tags, state) => Note(value, tags, state));
        _listener.Start();
    }

    /// <summary>Reads observable instruments, and returns all instruments with their series.</summary>
    public IReadOnlyList<(MeasuredInstrument Instrument, IReadOnlyList<MeasuredSeries> Series)> Collect()
    {
        lock (_collecting)
        {
            long round = Interlocked.Increment(ref _round);
            _listener.RecordObservableInstruments();
            return
            [
                .. Volatile.Read(ref _instruments)
                    .Select(one => (one, (IReadOnlyList<MeasuredSeries>)[.. one.SeriesOf(round)])),
            ];
        }
    }

    /// <summary>The current series of an instrument, without reading observable instruments.</summary>
    public IEnumerable<MeasuredSeries> SeriesOf(string instrument) => Volatile.Read(ref _instruments)
        .Where(one => one.Instrument.Name == instrument)
        .SelectMany(one => one.SeriesOf(Volatile.Read(ref _round)));

    public void Dispose() => _listener.Dispose();

    private void Note(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags, object? state) =>
        ((MeasuredInstrument)state!).Note(value, tags, Volatile.Read(ref _round));

    private void Change(Func<MeasuredInstrument[], MeasuredInstrument[]> change)
    {
        MeasuredInstrument[] seen = Volatile.Read(ref _instruments);
        MeasuredInstrument[] before;
        while ((before = Interlocked.CompareExchange(ref _instruments, change(seen), seen)) != seen)
        {
            seen = before;
        }
    }
}

internal enum InstrumentKind
{
    /// <summary>A monotonic sum.</summary>
    Counter,

    /// <summary>A value that goes up and down.</summary>
    Gauge,

    Histogram,
}

/// <summary>An instrument of a meter with all its series. Any thread may measure.</summary>
internal sealed class MeasuredInstrument
{
    /// <summary>Millrace's instruments have few series; the limit protects memory from instruments with many.</summary>
    private const int SeriesMax = 1_000;

    /// <summary>OpenTelemetry's default bounds in seconds, for instruments without advice.</summary>
    private static readonly double[] UsualBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

    private readonly IReadOnlyList<double>? _bounds;
    private readonly bool _isObserved;
    private readonly bool _isSum;
    private MeasuredSeries[] _series = [];

    public MeasuredInstrument(Instrument instrument)
    {
        Instrument = instrument;
        _isObserved = instrument.IsObservable;
        Type type = instrument.GetType().GetGenericTypeDefinition();
        _isSum = type == typeof(Counter<>) || type == typeof(UpDownCounter<>);
        Kind = type == typeof(Counter<>) || type == typeof(ObservableCounter<>) ? InstrumentKind.Counter
            : type == typeof(Histogram<>) ? InstrumentKind.Histogram
            : InstrumentKind.Gauge;
        _bounds = Kind == InstrumentKind.Histogram ? BoundsOf(instrument) : null;
    }

    public Instrument Instrument { get; }

    public InstrumentKind Kind { get; }

    /// <summary>The measured series; for observable instruments those of the given collection.</summary>
    public IEnumerable<MeasuredSeries> SeriesOf(long round) => Volatile.Read(ref _series).Where(one => !_isObserved || one.Round == round);

    public void Note(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags, long round)
    {
        if (SeriesFor(tags, round) is not { } series)
        {
            return;
        }

        series.Round = round;
        if (Kind == InstrumentKind.Histogram)
        {
            series.Count(value);
        }
        else if (_isSum)
        {
            series.Add(value);
        }
        else
        {
            series.Set(value);
        }
    }

    private MeasuredSeries? SeriesFor(ReadOnlySpan<KeyValuePair<string, object?>> tags, long round)
    {
        MeasuredSeries? added = null;
        MeasuredSeries[] seen = Volatile.Read(ref _series);
        while (true)
        {
            foreach (MeasuredSeries series in seen)
            {
                if (series.Tags.Matches(tags))
                {
                    return series;
                }
            }

            // An observable instrument reports all its series in each round: those not reported in this round, of a removed host for
            // example, are dropped.
            MeasuredSeries[] kept = seen.Length < SeriesMax || !_isObserved ? seen : [.. seen.Where(one => one.Round == round)];
            if (kept.Length == SeriesMax)
            {
                return null;
            }

            added ??= new MeasuredSeries(new TagSet(tags), _bounds) { Round = round };
            MeasuredSeries[] before = Interlocked.CompareExchange(ref _series, [.. kept, added], seen);
            if (before == seen)
            {
                return added;
            }

            seen = before;
        }
    }

    private static IReadOnlyList<double> BoundsOf(Instrument instrument) => instrument switch
    {
        Histogram<double> { Advice.HistogramBucketBoundaries: { } advised } => advised,
        Histogram<long> { Advice.HistogramBucketBoundaries: { } advised } => [.. advised.Select(static bound => (double)bound)],
        _ => UsualBounds,
    };
}

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

/// <summary>The tags of a measurement as labels of a series, sorted by name so that their order does not matter.</summary>
internal sealed class TagSet
{
    private readonly KeyValuePair<string, object?>[] _asGiven;

    public TagSet(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        _asGiven = tags.ToArray();
        Labels = [.. _asGiven.Select(static tag => (tag.Key, Text(tag.Value))).OrderBy(static label => label.Key, StringComparer.Ordinal)];
    }

    public IReadOnlyList<(string Name, string Value)> Labels { get; }

    /// <summary>
    /// Whether a measurement has exactly these tags in the same order, as one call site always writes them. Allocates nothing.
    /// </summary>
    public bool Matches(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (tags.Length != _asGiven.Length)
        {
            return false;
        }

        for (int i = 0; i < tags.Length; i++)
        {
            if (tags[i].Key != _asGiven[i].Key || !Equals(tags[i].Value, _asGiven[i].Value))
            {
                return false;
            }
        }

        return true;
    }

    private static string Text(object? value) => value switch
    {
        null => "",
        bool truth => truth ? "true" : "false",
        IFormattable number => number.ToString(null, System.Globalization.CultureInfo.InvariantCulture),
        _ => value.ToString() ?? "",
    };
}
