using System.Diagnostics.Metrics;

namespace Millrace.Server.Metrics;

/// <summary>How measurements of an instrument are aggregated.</summary>
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
