using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;
using Millrace.Interop;
using Millrace.Tls.OpenSsl;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;

namespace Millrace.Server.Metrics;

/// <summary>
/// Exports metrics to a collector with the OpenTelemetry package and its standard environment variables (interval, headers, resource). The
/// only type that uses the package, so that it is loaded only when needed.
/// </summary>
internal sealed class OtlpExport(MeterProvider provider, EventListener errors) : IDisposable
{
    private const string MetricsPath = "v1/metrics";

    /// <summary>Time for the last export: an unreachable collector must not delay the shutdown.</summary>
    private const int ShutdownMs = 2_000;

    /// <summary>Not inlined: calling it loads OpenTelemetry's assemblies, which other starts must not wait for.</summary>
    /// <param name="collector">The collector's URL; null if environment variables name it.</param>
    /// <param name="logging">Receives warnings about failed exports.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static OtlpExport Start(Uri? collector, ILoggerFactory logging)
    {
        var errors = new ExporterErrors(new OtlpLog(logging.CreateLogger("Millrace.Otlp")));
        MeterProviderBuilder builder = Sdk.CreateMeterProviderBuilder()
            // The last value of an attribute wins: environment variables override the others.
            .ConfigureResource(static resource =>
                resource.AddService("millrace", serviceVersion: ServerMeter.Version).AddEnvironmentVariableDetector())
            .AddMeter(RequestMeter.MeterName, RequestMeter.RuntimeMeterName)
            .AddOtlpExporter(options => Configure(options, collector));
        return new OtlpExport(builder.Build(), errors);
    }

    public void Dispose()
    {
        provider.Shutdown(ShutdownMs);
        provider.Dispose();
        errors.Dispose();
    }

    /// <summary>
    /// The configured URL is a collector's root, used over HTTP unless a variable selects gRPC. Without it the variables apply.
    /// </summary>
    private static void Configure(OtlpExporterOptions options, Uri? collector)
    {
        if (collector is not null)
        {
            options.Protocol = OtlpVariables.UseGrpc ? OtlpExportProtocol.Grpc : OtlpExportProtocol.HttpProtobuf;
            bool isRoot = collector.AbsolutePath == "/";
            options.Endpoint = isRoot && !OtlpVariables.UseGrpc ? new Uri(collector, MetricsPath) : collector;
        }

        if (options.Endpoint.Scheme == Uri.UriSchemeHttps)
        {
            OpenSslLibrary.Require();
        }
    }

    /// <summary>Receives the package's errors, which it reports only to event listeners.</summary>
    private sealed class ExporterErrors(OtlpLog log) : EventListener
    {
        private const string Source = "OpenTelemetry-Exporter-OpenTelemetryProtocol";

        /// <summary>Exports are a minute apart, with retries: one message in ten minutes is enough.</summary>
        private const long PauseMs = 600_000;

        private readonly LogRateLimiter _lines = new(PauseMs);

        protected override void OnEventSourceCreated(EventSource eventSource)
        {
            if (eventSource.Name == Source)
            {
                EnableEvents(eventSource, EventLevel.Warning);
            }
        }

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            if (_lines.Admits(Environment.TickCount64))
            {
                log.ExportFailed(Reason(eventData));
            }
        }

        /// <summary>Only the first line of an exception, without the package's stack trace.</summary>
        private static string Reason(EventWrittenEventArgs eventData) =>
            string.Join(' ', eventData.Payload?.Select(static part => $"{part}".Split('\n')[0]) ?? []);
    }
}

/// <summary>The log lines of the export. Event ids are stable: 7xx.</summary>
internal sealed partial class OtlpLog(ILogger logger)
{
    [LoggerMessage(700, LogLevel.Warning, "Metrics export failed; serving continues. {Reason}")]
    public partial void ExportFailed(string reason);
}

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
