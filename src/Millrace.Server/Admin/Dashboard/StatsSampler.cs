using System.Diagnostics;
using Millrace.Engine;
using Millrace.Server.Metrics;

namespace Millrace.Server.Admin.Dashboard;

/// <summary>Creates samples from the differences of the reactors' counters. Not thread-safe.</summary>
/// <param name="group">The group whose connections are counted.</param>
/// <param name="requests">The requests' meter.</param>
/// <param name="takeLag">Returns the worst lag of a reactor since the previous call, in seconds.</param>
internal sealed class StatsSampler(ReactorGroup group, RequestMeter requests, Func<int, double> takeLag)
{
    private RequestTotals _totals = requests.Total();
    private long _accepted = AcceptedBy(group);
    private long _turnedAway = TurnedAwayBy(group);
    private long _takenAt = Stopwatch.GetTimestamp();
    private long _number;

    public StatsSample Take()
    {
        RequestTotals before = _totals;
        (long acceptedBefore, long turnedAwayBefore, long takenBefore) = (_accepted, _turnedAway, _takenAt);
        _totals = requests.Total();
        _accepted = AcceptedBy(group);
        _turnedAway = TurnedAwayBy(group);
        _takenAt = Stopwatch.GetTimestamp();
        long[] durations = Difference(_totals.Durations, before.Durations);
        return new StatsSample
        {
            Number = ++_number,
            AtMs = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds(),
            Seconds = Stopwatch.GetElapsedTime(takenBefore, _takenAt).TotalSeconds,
            ByClass = Difference(_totals.ByClass, before.ByClass),
            NotModified = _totals.NotModified - before.NotModified,
            BodyBytes = _totals.BodyBytes - before.BodyBytes,
            ByOrigin = Difference(_totals.ByOrigin, before.ByOrigin),
            ByCoding = Difference(_totals.ByCoding, before.ByCoding),
            MedianSeconds = SecondsOf(Quantiles.At(durations, 0.5)),
            TailSeconds = SecondsOf(Quantiles.At(durations, 0.99)),
            Connections = group.Reactors.Sum(static reactor => (long)reactor.Connections.Count),
            Accepted = _accepted - acceptedBefore,
            TurnedAway = _turnedAway - turnedAwayBefore,
            LagSeconds = [.. group.Reactors.Select(reactor => takeLag(reactor.Index))],
        };
    }

    private static long AcceptedBy(ReactorGroup group) => group.Reactors.Sum(static reactor => reactor.Counters.Accepted);

    private static long TurnedAwayBy(ReactorGroup group) =>
        group.Reactors.Sum(static reactor => reactor.Counters.Shed + reactor.Counters.Refused);

    private static double? SecondsOf(long? ticks) => (double?)ticks / TimeSpan.TicksPerSecond;

    private static long[] Difference(IReadOnlyList<long> after, IReadOnlyList<long> before) =>
        [.. after.Zip(before, static (later, earlier) => later - earlier)];
}
