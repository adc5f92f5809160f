namespace Millrace.Server.Metrics;

/// <summary>The Prometheus page: all instruments, and request durations from their own, finer histogram.</summary>
internal static class PrometheusPage
{
    public static byte[] Write(MeterReader reading, RequestMeter? requests)
    {
        var text = new PrometheusText();
        foreach (IGrouping<string, (MeasuredInstrument Instrument, IReadOnlyList<MeasuredSeries> Series)> family in reading.Collect()
            .Where(static measured => measured.Series.Count > 0)
            .GroupBy(static measured => PrometheusNames.Of(measured.Instrument.Instrument, measured.Instrument.Kind))
            .OrderBy(static family => family.Key, StringComparer.Ordinal))
        {
            MeasuredInstrument first = family.First().Instrument;
            text.TryBegin(family.Key, TypeOf(first.Kind), first.Instrument.Description);
            foreach (MeasuredSeries series in family.SelectMany(static measured => measured.Series))
            {
                Write(text, first.Kind, series);
            }
        }

        requests?.WriteDurations(text);
        return text.ToBytes();
    }

    private static string TypeOf(InstrumentKind kind) => kind switch
    {
        InstrumentKind.Counter => "counter",
        InstrumentKind.Histogram => "histogram",
        _ => "gauge",
    };

    private static void Write(PrometheusText text, InstrumentKind kind, MeasuredSeries series)
    {
        if (kind != InstrumentKind.Histogram || series.Bounds is not { } bounds)
        {
            text.Sample(series.Tags.Labels, series.Value);
            return;
        }

        long[] counts = [.. Enumerable.Range(0, bounds.Count + 1).Select(series.CountAt)];
        text.Histogram(series.Tags.Labels, bounds, counts, series.Value);
    }
}
