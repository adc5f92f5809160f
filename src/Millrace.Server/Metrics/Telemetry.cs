using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Serving;

namespace Millrace.Server.Metrics;

/// <summary>
/// What is measured beyond the engine's own counts, and sent to a collector: only where somebody is to see it, otherwise requests are not
/// even looked at.
/// </summary>
internal sealed class Telemetry : IDisposable
{
    private readonly ServerMeter _server;
    private readonly IDisposable? _export;

    private Telemetry(ReactorGroup group, HostedSites hosted, AccessJournal? journal, IDisposable? export)
    {
        Requests = new RequestMeter(group.Reactors.Count);
        _server = new ServerMeter(group, hosted, journal);
        _export = export;
    }

    public RequestMeter Requests { get; }

    /// <summary>Measures, if anybody asked for it.</summary>
    public static Telemetry? Open(
        AdminOptions options, ReactorGroup group, HostedSites hosted, AccessJournal? journal, ILoggerFactory logging)
    {
        bool isSent = options.Collector is not null || OtlpVariables.AskForMetrics;
        return isSent || options.Address is not null
            ? new Telemetry(group, hosted, journal, isSent ? OtlpExport.Start(options.Collector, logging) : null)
            : null;
    }

    public void Dispose()
    {
        // The last measurements are sent while there still is something to read them from.
        _export?.Dispose();
        _server.Dispose();
        Requests.Dispose();
    }
}
