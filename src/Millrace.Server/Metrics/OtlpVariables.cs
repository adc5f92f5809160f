namespace Millrace.Server.Metrics;

/// <summary>
/// OpenTelemetry's standard environment variables that decide whether there is a collector: only then is the package loaded that reads all
/// of them.
/// </summary>
internal static class OtlpVariables
{
    private const string MetricsProtocol = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL";

    public static bool RequestMetrics =>
        (Has("OTEL_EXPORTER_OTLP_ENDPOINT") || Has("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"))
        && !Says("OTEL_METRICS_EXPORTER", "none")
        && !Says("OTEL_SDK_DISABLED", "true");

    /// <summary>The variable for metrics overrides the general one.</summary>
    public static bool UseGrpc => Says(Has(MetricsProtocol) ? MetricsProtocol : "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");

    private static bool Has(string name) => !string.IsNullOrEmpty(Environment.GetEnvironmentVariable(name));

    private static bool Says(string name, string value) =>
        string.Equals(Environment.GetEnvironmentVariable(name), value, StringComparison.OrdinalIgnoreCase);
}
