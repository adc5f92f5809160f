using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using Millrace.Engine;
using Millrace.Engine.Diagnostics;
using Millrace.Server.Http3;
using Millrace.Server.Https;
using Millrace.Server.Metrics;
using Millrace.Server.Serving;

namespace Millrace.Server.Admin;

/// <summary>
/// The server's state for the admin pages; only "starting" until <see cref="Attach"/>. One thread calls <see cref="Check"/>; other members
/// are for any thread.
/// </summary>
internal sealed class AdminState : IDisposable
{
    /// <summary>As many as a look takes in.</summary>
    private const int NotFoundMax = 10;

    private const string LagInstrument = "millrace.reactor.lag";

    /// <summary>Checks run every second: after this time without one the reactors' state is unknown.</summary>
    private static readonly TimeSpan CheckAgeMax = TimeSpan.FromSeconds(15);

    private readonly MeterReader _reading = new(static instrument =>
        instrument.Meter.Name is RequestMeter.MeterName or RequestMeter.RuntimeMeterName && instrument.Name != RequestMeter.DurationName);

    private volatile Watched? _watched;
    private volatile Readiness _readiness;
    private long _checkedAt = Stopwatch.GetTimestamp();

    public Readiness Readiness
    {
        get => _readiness;
        set => _readiness = value;
    }

    /// <summary>Why the process should be restarted; null if it is healthy.</summary>
    public string? Trouble =>
        _watched?.Health.Stuck is { } reactor
            ? $"reactor {reactor} has been stuck in one callback for at least {ReactorHealth.ChecksMax} seconds"
        : Stopwatch.GetElapsedTime(Volatile.Read(ref _checkedAt)) > CheckAgeMax ? "the reactor health check has stopped"
        : null;

    /// <summary>Why certificates could not be obtained or renewed at the last attempt. They do not make the server unready.</summary>
    public IEnumerable<string> CertificateTroubles => (_watched?.Https.Obtained ?? [])
        .Where(static one => one.LastError is not null)
        .Select(static one => $"certificate for {string.Join(", ", one.Names)}: {one.LastError}");

    /// <summary>Called when the reactors run and their sites are open.</summary>
    public void Attach(
        ReactorGroup group,
        RequestMeter requests,
        HostedSites hosted,
        SiteUpstreams upstreams,
        HttpsEndpoints https,
        Http3Listeners http3) =>
        _watched = new Watched(
            group, requests, hosted, upstreams, https, new ReactorHealth(group.Reactors.Count),
            new StatsSampler(group, requests, http3, TakeLag));

    public void Check()
    {
        if (_watched is { } watched)
        {
            watched.Health.Check([.. watched.Group.Reactors.Select(static reactor => reactor.Heartbeat.Count)]);
            watched.Sampler.Take();
        }

        Volatile.Write(ref _checkedAt, Stopwatch.GetTimestamp());
    }

    public byte[] WriteMetrics() => PrometheusPage.Write(_reading, _watched?.Requests);

    /// <summary>Statistics for the live page, with the samples after the given number.</summary>
    public byte[] WriteStats(long after)
    {
        RequestTotals? totals = _watched?.Requests.Total();
        DateTimeOffset now = DateTimeOffset.UtcNow;
        var stats = new Stats(
            ServerMeter.Version,
            _watched?.Group.BackendName ?? "",
            _readiness.ToString().ToLowerInvariant(),
            Trouble,
            _watched?.Group.Reactors.Count ?? 0,
            _watched?.Hosted.All.Sum(static one => (long)one.Site.Catalog.Current.AssetCount) ?? 0,
            ServerMeter.StartedAtMs,
            totals?.Requests ?? 0,
            totals?.BodyBytes ?? 0,
            StatsCertificate.All(_watched?.Https.Certificates ?? [], _watched?.Https.Obtained ?? [], now),
            [.. (_watched?.Upstreams.Status(_watched.Group) ?? []).Where(static one => one.IsInUse).Select(StatsUpstream.Of)],
            [.. (_watched?.Requests.MostNotFound(NotFoundMax) ?? []).Select(static one => new StatsPath(one.Key, one.Value))],
            _watched?.Sampler.After(after) ?? []);
        return JsonSerializer.SerializeToUtf8Bytes(stats, StatsJson.Default.Stats);
    }

    public void Dispose() => _reading.Dispose();

    private double TakeLag(int reactor)
    {
        string index = reactor.ToString(CultureInfo.InvariantCulture);
        return _reading.SeriesOf(LagInstrument)
            .Where(series => series.Tags.Labels is [(_, var text)] && text == index)
            .Select(static series => series.TakeMost())
            .DefaultIfEmpty()
            .Max();
    }

    private sealed record Watched(
        ReactorGroup Group,
        RequestMeter Requests,
        HostedSites Hosted,
        SiteUpstreams Upstreams,
        HttpsEndpoints Https,
        ReactorHealth Health,
        StatsSampler Sampler);
}

/// <summary>Whether the server should receive requests.</summary>
internal enum Readiness
{
    /// <summary>Not yet: sites are being read.</summary>
    Starting,

    Ready,

    /// <summary>No longer: in-flight requests finish, and no new connections are accepted.</summary>
    Draining,
}

/// <summary>
/// Detects stuck reactors from their heartbeats: a reactor is stuck if several consecutive checks find it in the same callback. A reactor
/// that waits in the kernel is healthy. Pure: the caller checks once a second.
/// </summary>
internal sealed class ReactorHealth(int reactors)
{
    /// <summary>
    /// Longer than a slow disk takes. A stopped process or a suspended machine counts as one check, however long it lasts.
    /// </summary>
    public const int ChecksMax = 5;

    private readonly long[] _heartbeats = new long[reactors];
    private readonly int[] _checks = new int[reactors];

    /// <summary>The index of the first stuck reactor; null if none is.</summary>
    public int? Stuck { get; private set; }

    public void Check(ReadOnlySpan<long> heartbeats)
    {
        Stuck = null;
        for (int i = 0; i < heartbeats.Length; i++)
        {
            bool isSame = heartbeats[i] == _heartbeats[i] && !LoopHeartbeat.IsWaitingAt(heartbeats[i]);
            _checks[i] = isSame ? _checks[i] + 1 : 0;
            _heartbeats[i] = heartbeats[i];
            Stuck ??= _checks[i] >= ChecksMax ? i : null;
        }
    }
}
