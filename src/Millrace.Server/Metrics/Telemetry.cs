using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Serving;

namespace Millrace.Server.Metrics;

/// <summary>
/// Metrics beyond the engine's own counters, and their export: active only if admin pages or a collector are configured; otherwise requests
/// are not observed.
/// </summary>
internal sealed class Telemetry : IDisposable
{
    private readonly ServerMeter _server;
    private readonly IDisposable? _export;

    private Telemetry(ReactorGroup group, HostedSites hosted, AccessLogger? accessLog, IDisposable? export)
    {
        Requests = new RequestMeter(group.Reactors.Count);
        _server = new ServerMeter(group, hosted, accessLog);
        _export = export;
    }

    public RequestMeter Requests { get; }

    /// <summary>Starts measuring, if configured.</summary>
    public static Telemetry? Open(
        AdminOptions options, ReactorGroup group, HostedSites hosted, AccessLogger? accessLog, ILoggerFactory logging)
    {
        bool isSent = options.Collector is not null || OtlpVariables.RequestMetrics;
        return isSent || options.Address is not null
            ? new Telemetry(group, hosted, accessLog, isSent ? OtlpExport.Start(options.Collector, logging) : null)
            : null;
    }

    public void Dispose()
    {
        // The last export needs the instruments, which are disposed of next.
        _export?.Dispose();
        _server.Dispose();
        Requests.Dispose();
    }
}
