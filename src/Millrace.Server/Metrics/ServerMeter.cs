using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Reflection;
using Millrace.Engine;
using Millrace.Server.AccessLog;
using Millrace.Server.Serving;
using Millrace.StaticFiles;

namespace Millrace.Server.Metrics;

/// <summary>Instruments about the process and its sites, in the meter <c>Millrace</c>. Read when somebody collects.</summary>
internal sealed class ServerMeter : IDisposable
{
    private readonly Meter _meter;

    public ServerMeter(ReactorGroup group, HostedSites hosted, AccessJournal? journal)
    {
        _meter = new Meter(new MeterOptions(RequestMeter.MeterName) { Scope = this });
        _meter.CreateObservableGauge(
            "process.start_time", static () => StartedAtMs / 1000.0, "s", "When the process started, in seconds since 1970.");
        _meter.CreateObservableGauge(
            "millrace.build_info",
            () => new Measurement<int>(1, new("version", Version), new("backend", group.BackendName)),
            unit: null,
            "Which Millrace this is.");

        if (journal is not null)
        {
            _meter.CreateObservableCounter(
                "millrace.access_log.dropped", () => journal.Dropped, "{line}", "Lines of the access log that there was no room for.");
        }

        Show("assets", "{asset}", "Files that are served.", static site => site.Catalog.Current.AssetCount);
        Show("directories", "{directory}", "Directories of a site.", static site => site.Catalog.Current.DirectoryCount);
        Show("skipped", "{entry}", "Entries below a root that are not served.", static site => site.Catalog.Current.SkippedCount);
        Show("snapshots", "{snapshot}", "Versions of a site that something still uses.", static site => site.Catalog.SnapshotsHeld);
        Show("baked", "By", "Memory for bodies.", static site => site.Catalog.BakedBytesHeld);
        Show("compressed", "By", "Memory for bodies that were compressed here.", static site => site.Catalog.CompressedBytesHeld);
        Show("descriptors", "{descriptor}", "Files that are held open.", static site => site.Catalog.DescriptorsHeld);
        Show("compressing", "{pass}", "Whether files are being compressed now.", static site => site.IsCompressing ? 1 : 0);

        void Show(string name, string unit, string help, Func<Site, long> read) => _meter.CreateObservableUpDownCounter(
            $"millrace.site.{name}",
            () => hosted.All.Select(one => new Measurement<long>(read(one.Site), TagOf(one.Told.Name))),
            unit,
            help);
    }

    /// <summary>As <c>--version</c> says it.</summary>
    public static string Version { get; } =
        typeof(ServerMeter).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "unknown";

    /// <summary>When the process started, in milliseconds since 1970.</summary>
    public static long StartedAtMs { get; } = ReadStart();

    public void Dispose() => _meter.Dispose();

    private static KeyValuePair<string, object?> TagOf(string host) => new("host", host);

    private static long ReadStart()
    {
        using var process = Process.GetCurrentProcess();
        return new DateTimeOffset(process.StartTime).ToUnixTimeMilliseconds();
    }
}
