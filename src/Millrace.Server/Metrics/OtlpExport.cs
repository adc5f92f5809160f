using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;

namespace Millrace.Server.Metrics;

/// <summary>
/// Sends what the meters measure to a collector, by the OpenTelemetry package and its standard variables (interval, headers, resource). The
/// only type that uses it, so that nobody else has it loaded.
/// </summary>
internal sealed class OtlpExport : IDisposable
{
    private const string MetricsPath = "v1/metrics";

    /// <summary>For the last measurements: a collector that is gone must not hold the end up.</summary>
    private const int LastWordMs = 2_000;

    private readonly MeterProvider _provider;
    private readonly Complaints _complaints;

    private OtlpExport(MeterProvider provider, Complaints complaints)
    {
        _provider = provider;
        _complaints = complaints;
    }

    /// <summary>Not inlined: who calls it has OpenTelemetry's assemblies loaded, for which no other start should wait.</summary>
    /// <param name="collector">Where to send to; null where the variables say it.</param>
    /// <param name="logging">Where is told that nothing arrives.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static OtlpExport Start(Uri? collector, ILoggerFactory logging)
    {
        var complaints = new Complaints(new OtlpLog(logging.CreateLogger("Millrace.Otlp")));
        MeterProviderBuilder builder = Sdk.CreateMeterProviderBuilder()
            // What is said last of an attribute holds, and that are the variables.
            .ConfigureResource(static resource =>
                resource.AddService("millrace", serviceVersion: ServerMeter.Version).AddEnvironmentVariableDetector())
            .AddMeter(RequestMeter.MeterName, RequestMeter.RuntimeMeterName)
            .AddOtlpExporter(options => Configure(options, collector));
        return new OtlpExport(builder.Build(), complaints);
    }

    public void Dispose()
    {
        _provider.Shutdown(LastWordMs);
        _provider.Dispose();
        _complaints.Dispose();
    }

    /// <summary>
    /// A URL of ours is a collector's root, asked over HTTP unless a variable says gRPC. Without one the variables say it all.
    /// </summary>
    private static void Configure(OtlpExporterOptions options, Uri? collector)
    {
        if (collector is not null)
        {
            options.Protocol = OtlpVariables.SayGrpc ? OtlpExportProtocol.Grpc : OtlpExportProtocol.HttpProtobuf;
            bool isRoot = collector.AbsolutePath == "/";
            options.Endpoint = isRoot && !OtlpVariables.SayGrpc ? new Uri(collector, MetricsPath) : collector;
        }
    }

    /// <summary>What the package complains of, which it tells to event listeners only.</summary>
    private sealed class Complaints(OtlpLog log) : EventListener
    {
        private const string Source = "OpenTelemetry-Exporter-OpenTelemetryProtocol";

        /// <summary>Exports are a minute apart, and retries among them: a line in ten minutes tells as much.</summary>
        private const long PauseMs = 600_000;

        private readonly LinePace _lines = new(PauseMs);

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
                log.Complained(Reason(eventData));
            }
        }

        /// <summary>The first line of an exception is enough; its stack is the package's.</summary>
        private static string Reason(EventWrittenEventArgs eventData) =>
            string.Join(' ', eventData.Payload?.Select(static part => $"{part}".Split('\n')[0]) ?? []);
    }
}

/// <summary>The log lines of the export. Event ids are stable: 7xx.</summary>
internal sealed partial class OtlpLog(ILogger logger)
{
    [LoggerMessage(700, LogLevel.Warning, "Metrics do not reach their collector; sites are served as before. {Reason}")]
    public partial void Complained(string reason);
}
