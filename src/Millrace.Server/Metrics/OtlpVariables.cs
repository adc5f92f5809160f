namespace Millrace.Server.Metrics;

/// <summary>
/// The standard variables of OpenTelemetry, as far as they say whether there is a collector at all: the package that reads them all is
/// loaded only then.
/// </summary>
internal static class OtlpVariables
{
    private const string MetricsProtocol = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL";

    public static bool AskForMetrics =>
        (Has("OTEL_EXPORTER_OTLP_ENDPOINT") || Has("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"))
        && !Says("OTEL_METRICS_EXPORTER", "none")
        && !Says("OTEL_SDK_DISABLED", "true");

    /// <summary>What is said of metrics goes before what is said of everything.</summary>
    public static bool SayGrpc => Says(Has(MetricsProtocol) ? MetricsProtocol : "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");

    private static bool Has(string name) => !string.IsNullOrEmpty(Environment.GetEnvironmentVariable(name));

    private static bool Says(string name, string value) =>
        string.Equals(Environment.GetEnvironmentVariable(name), value, StringComparison.OrdinalIgnoreCase);
}
