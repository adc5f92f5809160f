using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Reflection;
using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Engine;
using Millrace.Server.AccessLog;
using Millrace.Server.Admin;
using Millrace.Server.Http3;
using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.StaticFiles;

namespace Millrace.Server.Metrics;

/// <summary>
/// Metrics beyond the engine's own counters, and their export: active only if admin pages or a collector are configured; otherwise requests
/// are not observed.
/// </summary>
internal sealed class Telemetry(
    ReactorGroup group,
    HostedSites hosted,
    SiteUpstreams upstreams,
    HttpsEndpoints https,
    Http3Listeners http3,
    AccessLogger? accessLog,
    IDisposable? export)
    : IDisposable
{
    private readonly ServerMeter _server = new(group, hosted, upstreams, https, http3, accessLog);

    public RequestMeter Requests { get; } = new(group.Reactors.Count);

    public static Telemetry? Open(
        AdminOptions options,
        ReactorGroup group,
        HostedSites hosted,
        SiteUpstreams upstreams,
        HttpsEndpoints https,
        Http3Listeners http3,
        AccessLogger? accessLog,
        ILoggerFactory logging)
    {
        bool isSent = options.Collector is not null || OtlpVariables.RequestMetrics;
        return isSent || options.Address is not null
            ? new Telemetry(
                group, hosted, upstreams, https, http3, accessLog, isSent ? OtlpExport.Start(options.Collector, logging) : null)
            : null;
    }

    public void Dispose()
    {
        // The last export needs the instruments, which are disposed of next.
        export?.Dispose();
        _server.Dispose();
        Requests.Dispose();
    }
}

/// <summary>Observable instruments about the process and its sites, in the meter <c>Millrace</c>.</summary>
internal sealed class ServerMeter : IDisposable
{
    private readonly Meter _meter;

    public ServerMeter(
        ReactorGroup group, HostedSites hosted, SiteUpstreams upstreams, HttpsEndpoints https, Http3Listeners http3,
        AccessLogger? accessLog)
    {
        _meter = new Meter(new MeterOptions(RequestMeter.MeterName) { Scope = this });
        _meter.CreateObservableGauge(
            "process.start_time", static () => StartedAtMs / 1000.0, "s", "When the process started, in seconds since 1970.");
        _meter.CreateObservableGauge(
            "millrace.build_info",
            () => new Measurement<int>(1, new("version", Version), new("backend", group.BackendName)),
            unit: null,
            "Version and backend of this server.");

        _meter.CreateObservableGauge(
            "millrace.certificate.expiry",
            () => from certificate in https.Certificates
                  from host in certificate.Names
                  select new Measurement<long>(certificate.Expiry.ToUnixTimeSeconds(), TagOf(host), new("file", certificate.File)),
            "s",
            "When the certificate of a host expires, in seconds since 1970.");
        _meter.CreateObservableGauge(
            "millrace.certificate.renewal",
            () => Renewed(https, static one => one.NextRenewal?.ToUnixTimeSeconds(), static next => next.Min()),
            "s",
            "When a certificate is obtained or renewed next, in seconds since 1970.");
        _meter.CreateObservableGauge(
            "millrace.certificate.failures",
            () => Renewed(https, static one => one.Failures, static failures => failures.Max()),
            "{attempt}",
            "Attempts to obtain or renew a certificate that have failed since the last that succeeded.");
        _meter.CreateObservableGauge(
            "millrace.certificate.last_error",
            () => (from certificate in https.Obtained
                   where certificate.LastError is not null
                   from host in certificate.Names
                   select (host, Key: KeyOf(certificate), Error: certificate.LastErrorType ?? "other")).Distinct()
                .Select(static one => new Measurement<int>(1, TagOf(one.host), new("key", one.Key), new("error", one.Error))),
            unit: null,
            "The type of problem that the last attempt to obtain or renew a certificate failed with.");

        if (accessLog is not null)
        {
            _meter.CreateObservableCounter(
                "millrace.access_log.dropped", () => accessLog.Dropped, "{line}", "Access log lines dropped because the buffer was full.");
        }

        _meter.CreateObservableCounter(
            "millrace.rate_limit.refused", () => hosted.RateLimiter.Refused, "{request}", "Requests refused by rate limits (429).");
        _meter.CreateObservableCounter(
            "millrace.rate_limit.forgotten",
            () => hosted.RateLimiter.Forgotten,
            "{client}",
            "Clients that rate limits forgot before their time because --rate-limit-memory was full.");
        new UpstreamMeter(_meter, () => upstreams.Status(group)).AddInstruments();
        var quic = new QuicMeter(_meter, () => http3.Counters);
        quic.AddInstruments();
        http3.OnRoundTripTime = quic.RecordRoundTripTime;
        Show("assets", "{asset}", "Files of a site.", static site => site.Catalog.Current.AssetCount);
        Show("directories", "{directory}", "Directories of a site.", static site => site.Catalog.Current.DirectoryCount);
        Show("skipped", "{entry}", "Entries below the root that are not served.", static site => site.Catalog.Current.SkippedCount);
        Show("snapshots", "{snapshot}", "Snapshots of a site that are still in use.", static site => site.Catalog.SnapshotsHeld);
        Show("memory", "By", "Memory for file contents.", static site => site.Catalog.InMemoryBytesHeld);
        Show("compressed", "By", "Memory for contents compressed by the server.", static site => site.Catalog.CompressedBytesHeld);
        Show("descriptors", "{descriptor}", "Files held open.", static site => site.Catalog.DescriptorsHeld);
        Show("compressing", "{pass}", "Whether files are being compressed now.", static site => site.IsCompressing ? 1 : 0);

        Show("dictionary.variants", "By", "Memory for files coded with dictionaries.", static site => site.Catalog.DictionaryBytesHeld);
        Show("dictionary.store", "By", "Files kept as dictionaries.", static site => site.History?.BytesHeld ?? 0);
        Show("dictionaries", "{file}", "Number of files kept as dictionaries.", static site => site.History?.CountHeld ?? 0);
        _meter.CreateObservableCounter(
            "millrace.site.dictionary.coded",
            () => hosted.All.Select(static one => new Measurement<long>(one.Site.DictionaryVariantsMade, TagOf(one.Configured.Name))),
            "{file}",
            "Files coded with a dictionary, each once for each dictionary and coding.");
        _meter.CreateObservableCounter(
            "millrace.site.dictionary.coding",
            () => hosted.All.Select(
                static one => new Measurement<double>(one.Site.DictionaryTime.TotalSeconds, TagOf(one.Configured.Name))),
            "s",
            "Processor time of coding files with dictionaries.");

        _meter.CreateObservableCounter(
            "millrace.site.compression",
            () => hosted.All.Select(
                static one => new Measurement<double>(one.Site.CompressionTime.TotalSeconds, TagOf(one.Configured.Name))),
            "s",
            "Processor time of compressing files in the background.");

        void Show(string name, string unit, string help, Func<Site, long> read) => _meter.CreateObservableUpDownCounter(
            $"millrace.site.{name}",
            () => hosted.All.Select(one => new Measurement<long>(read(one.Site), TagOf(one.Configured.Name))),
            unit,
            help);
    }

    /// <summary>The version, as in <c>--version</c>.</summary>
    public static string Version { get; } =
        typeof(ServerMeter).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "unknown";

    /// <summary>The start of the process, in milliseconds since 1970.</summary>
    public static long StartedAtMs { get; } = ReadStart();

    public void Dispose() => _meter.Dispose();

    /// <summary>One measurement for each host and kind of key: a host may be in several certificates.</summary>
    private static IEnumerable<Measurement<long>> Renewed(
        HttpsEndpoints https, Func<AcmeCertificate, long?> read, Func<IEnumerable<long>, long> choose) =>
        from certificate in https.Obtained
        let value = read(certificate)
        where value is not null
        from host in certificate.Names
        group value.Value by (host, Key: KeyOf(certificate)) into values
        select new Measurement<long>(choose(values), TagOf(values.Key.host), new("key", values.Key.Key));

    private static string KeyOf(AcmeCertificate certificate) => certificate.KeyKind == AcmeKeyKinds.Rsa2048 ? "rsa2048" : "p256";

    private static KeyValuePair<string, object?> TagOf(string host) => new("host", host);

    private static long ReadStart()
    {
        using var process = Process.GetCurrentProcess();
        return new DateTimeOffset(process.StartTime).ToUnixTimeMilliseconds();
    }
}
