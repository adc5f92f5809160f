using System.Diagnostics;
using System.Globalization;
using Millrace.Engine;
using Millrace.Server.Admin.Dashboard;
using Millrace.Server.Metrics;
using Millrace.Server.Serving;

namespace Millrace.Server.Admin;

/// <summary>
/// What the admin pages know of the server: nothing but that it starts, until <see cref="Attach"/>. <see cref="Look"/> is for one thread;
/// the rest for any.
/// </summary>
internal sealed class AdminState : IDisposable
{
    private const string LagInstrument = "millrace.reactor.lag";

    /// <summary>Looks come every second: without one for so long nobody knows how the reactors are.</summary>
    private static readonly TimeSpan LookOldest = TimeSpan.FromSeconds(15);

    private readonly MeterReading _reading = new(static instrument =>
        instrument.Meter.Name is RequestMeter.MeterName or RequestMeter.RuntimeMeterName && instrument.Name != RequestMeter.DurationName);

    private readonly StatsHistory _history = new();
    private volatile Watched? _watched;
    private volatile Readiness _readiness;
    private long _lookedAt = Stopwatch.GetTimestamp();

    public Readiness Readiness
    {
        get => _readiness;
        set => _readiness = value;
    }

    /// <summary>Why the process should be started anew; null where it should not.</summary>
    public string? Trouble =>
        _watched?.Health.Stuck is { } reactor ? $"reactor {reactor} has not turned for {ReactorHealth.LooksMost} seconds and more"
        : Stopwatch.GetElapsedTime(Volatile.Read(ref _lookedAt)) > LookOldest ? "nobody has looked at the reactors lately"
        : null;

    /// <summary>The reactors run, and their sites are open.</summary>
    public void Attach(ReactorGroup group, RequestMeter requests, HostedSites hosted) =>
        _watched = new Watched(
            group, requests, hosted, new ReactorHealth(group.Reactors.Count), new StatsSampler(group, requests, TakeLag));

    /// <summary>Once a second.</summary>
    public void Look()
    {
        if (_watched is { } watched)
        {
            watched.Health.Look([.. watched.Group.Reactors.Select(static reactor => reactor.Pulse.Beats)]);
            _history.Add(watched.Sampler.Take());
        }

        Volatile.Write(ref _lookedAt, Stopwatch.GetTimestamp());
    }

    public byte[] WriteMetrics() => PrometheusPage.Write(_reading, _watched?.Requests);

    /// <summary>For the live page: what is behind the sample that it has.</summary>
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
