using System.Diagnostics.Metrics;

namespace Millrace.Server.Metrics;

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
