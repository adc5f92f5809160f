using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;

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

/// <summary>
/// Writes the Prometheus text format, version 0.0.4. Families follow each other, each with its samples, as the format requires.
/// </summary>
internal sealed class PrometheusText
{
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    private readonly StringBuilder _text = new();
    private readonly HashSet<string> _families = [];
    private string _family = "";

    /// <summary>Begins a family; false if the name was used before, which the format forbids.</summary>
    public bool TryBegin(string name, string type, string? help)
    {
        if (!_families.Add(name))
        {
            return false;
        }

        _family = name;
        if (!string.IsNullOrEmpty(help))
        {
            _text.Append("# HELP ").Append(name).Append(' ').Append(Escaped(help, escapesQuotes: false)).Append('\n');
        }

        _text.Append("# TYPE ").Append(name).Append(' ').Append(type).Append('\n');
        return true;
    }

    public void Sample(IReadOnlyList<(string Name, string Value)> labels, double value, string suffix = "", string? bound = null)
    {
        _text.Append(_family).Append(suffix);
        char separator = '{';
        foreach ((string name, string text) in labels)
        {
            AppendLabel(ref separator, PrometheusNames.OfLabel(name), text);
        }

        if (bound is not null)
        {
            AppendLabel(ref separator, "le", bound);
        }

        _text.Append(separator == ',' ? "} " : " ").Append(Number(value)).Append('\n');
    }

    /// <summary>Adds a histogram's series to the current family. The last count is above all bounds, which ascend.</summary>
    public void Histogram(
        IReadOnlyList<(string Name, string Value)> labels, IReadOnlyList<double> bounds, IReadOnlyList<long> counts, double sum)
    {
        long total = 0;
        for (int i = 0; i < bounds.Count; i++)
        {
            total += counts[i];
            Sample(labels, total, "_bucket", Number(bounds[i]));
        }

        total += counts[bounds.Count];
        Sample(labels, total, "_bucket", "+Inf");
        Sample(labels, sum, "_sum");
        Sample(labels, total, "_count");
    }

    public byte[] ToBytes() => Encoding.UTF8.GetBytes(_text.ToString());

    private void AppendLabel(ref char separator, string name, string value)
    {
        _text.Append(separator).Append(name).Append("=\"").Append(Escaped(value, escapesQuotes: true)).Append('"');
        separator = ',';
    }

    private static string Number(double value) => value switch
    {
        double.PositiveInfinity => "+Inf",
        double.NegativeInfinity => "-Inf",
        _ => value.ToString("R", CultureInfo.InvariantCulture),
    };

    private static string Escaped(string text, bool escapesQuotes)
    {
        string escaped = text.Replace("\\", @"\\", StringComparison.Ordinal).Replace("\n", @"\n", StringComparison.Ordinal);
        return escapesQuotes ? escaped.Replace("\"", "\\\"", StringComparison.Ordinal) : escaped;
    }
}

/// <summary>
/// Prometheus names of instruments: underscores, with unit and <c>_total</c> appended by OpenTelemetry's compatibility rules, so that
/// dashboards work with either way of collection.
/// </summary>
internal static class PrometheusNames
{
    public static string Of(Instrument instrument, InstrumentKind kind)
    {
        string name = Sanitized(instrument.Name);
        name = WithSuffix(name, UnitSuffix(instrument.Unit, kind));
        return kind == InstrumentKind.Counter ? WithSuffix(name, "total") : name;
    }

    public static string OfLabel(string name) => Sanitized(name).Replace(':', '_');

    private static string WithSuffix(string name, string suffix) =>
        suffix.Length == 0 || name.EndsWith($"_{suffix}", StringComparison.Ordinal) ? name : $"{name}_{suffix}";

    private static string UnitSuffix(string? unit, InstrumentKind kind) => unit switch
    {
        "s" => "seconds",
        "ms" => "milliseconds",
        "By" => "bytes",
        "1" when kind == InstrumentKind.Gauge => "ratio",
        // "{request}" and the like are annotations, not units.
        _ => "",
    };

    private static string Sanitized(string name)
    {
        string sanitized = string.Concat(name.Select(static one => char.IsAsciiLetterOrDigit(one) || one is '_' or ':' ? one : '_'));
        return sanitized.Length == 0 || char.IsAsciiDigit(sanitized[0]) ? $"_{sanitized}" : sanitized;
    }
}
