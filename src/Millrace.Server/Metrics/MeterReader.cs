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
        _listener.SetMeasurementEventCallback<byte>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<short>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<int>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<long>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<float>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<double>((_, value, tags, state) => Note(value, tags, state));
        _listener.SetMeasurementEventCallback<decimal>((_, value, tags, state) => Note((double)value, tags, state));
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
