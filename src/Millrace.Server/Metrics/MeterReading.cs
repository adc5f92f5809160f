using System.Diagnostics.Metrics;

namespace Millrace.Server.Metrics;

/// <summary>
/// Listens to meters of this process and keeps what they measure. What is observed is read by <see cref="Collect"/>, on the caller's
/// thread. Any thread may use it.
/// </summary>
internal sealed class MeterReading : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly Lock _collecting = new();

    /// <summary>In the order of publication. Replaced as a whole.</summary>
    private MeasuredInstrument[] _instruments = [];
    private long _round;

    /// <param name="takes">Which instruments to listen to: others are not even measured for it.</param>
    public MeterReading(Func<Instrument, bool> takes)
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

    /// <summary>Reads all that is observed, and shows each instrument with its series.</summary>
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

    /// <summary>The series of an instrument as they are, without reading what is observed.</summary>
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
