using System.Diagnostics;
using System.Globalization;
using Millrace.Engine;
using Millrace.Server.Admin.Dashboard;
using Millrace.Server.Metrics;
using Millrace.Server.Serving;

namespace Millrace.Server.Admin;

/// <summary>
/// The server's state for the admin pages; only "starting" until <see cref="Attach"/>. One thread calls <see cref="Check"/>; other members
/// are for any thread.
/// </summary>
internal sealed class AdminState : IDisposable
{
    private const string LagInstrument = "millrace.reactor.lag";

    /// <summary>Checks run every second: after this time without one the reactors' state is unknown.</summary>
    private static readonly TimeSpan CheckAgeMax = TimeSpan.FromSeconds(15);

    private readonly MeterReader _reading = new(static instrument =>
        instrument.Meter.Name is RequestMeter.MeterName or RequestMeter.RuntimeMeterName && instrument.Name != RequestMeter.DurationName);

    private readonly StatsHistory _history = new();
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

    /// <summary>Called when the reactors run and their sites are open.</summary>
    public void Attach(ReactorGroup group, RequestMeter requests, HostedSites hosted) =>
        _watched = new Watched(
            group, requests, hosted, new ReactorHealth(group.Reactors.Count), new StatsSampler(group, requests, TakeLag));

    /// <summary>Called once a second.</summary>
    public void Check()
    {
        if (_watched is { } watched)
        {
            watched.Health.Check([.. watched.Group.Reactors.Select(static reactor => reactor.Heartbeat.Count)]);
            _history.Add(watched.Sampler.Take());
        }

        Volatile.Write(ref _checkedAt, Stopwatch.GetTimestamp());
    }

    public byte[] WriteMetrics() => PrometheusPage.Write(_reading, _watched?.Requests);

    /// <summary>Statistics for the live page, with the samples after the given number.</summary>
    public byte[] WriteStats(long after)
    {
        RequestTotals? totals = _watched?.Requests.Total();
        var facts = new StatsFacts(
            ServerMeter.Version,
            _watched?.Group.BackendName ?? "",
            _readiness,
            Trouble,
            _watched?.Group.Reactors.Count ?? 0,
            _watched?.Hosted.All.Sum(static one => (long)one.Site.Catalog.Current.AssetCount) ?? 0,
            ServerMeter.StartedAtMs,
            totals?.Requests ?? 0,
            totals?.BodyBytes ?? 0);
        return StatsJson.Write(facts, _history.After(after));
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
        ReactorGroup Group, RequestMeter Requests, HostedSites Hosted, ReactorHealth Health, StatsSampler Sampler);
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
