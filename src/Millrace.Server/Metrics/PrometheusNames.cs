using System.Diagnostics.Metrics;

namespace Millrace.Server.Metrics;

/// <summary>
/// What instruments are called in Prometheus: with underscores, the unit and <c>_total</c> behind the name, as OpenTelemetry's
/// compatibility rules have it, so that a dashboard made for either way of collecting fits the other.
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
        // "{turn}" and the like are annotations, no units.
        _ => "",
    };

    private static string Sanitized(string name)
    {
        string sanitized = string.Concat(name.Select(static one => char.IsAsciiLetterOrDigit(one) || one is '_' or ':' ? one : '_'));
        return sanitized.Length == 0 || char.IsAsciiDigit(sanitized[0]) ? $"_{sanitized}" : sanitized;
    }
}
