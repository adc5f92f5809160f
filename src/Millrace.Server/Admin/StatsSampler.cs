using System.Diagnostics;
using System.Globalization;
using System.Text.Json.Serialization;
using Millrace.Acme;
using Millrace.Engine;
using Millrace.HttpServer.Upstreams;
using Millrace.Server.Http3;
using Millrace.Server.Https;
using Millrace.Server.Metrics;

namespace Millrace.Server.Admin;

/// <summary>
/// Creates samples from the differences of the reactors' counters, and keeps those of the last minutes, so that a newly opened page shows
/// them at once. One thread takes samples, any thread reads them.
/// </summary>
/// <param name="group">The group whose connections are counted.</param>
/// <param name="requests">The requests' meter.</param>
/// <param name="http3">Its connections are counted with those over TCP.</param>
/// <param name="takeLag">Returns the worst lag of a reactor since the previous call, in seconds.</param>
internal sealed class StatsSampler(ReactorGroup group, RequestMeter requests, Http3Listeners http3, Func<int, double> takeLag)
{
    /// <summary>Five minutes.</summary>
    private const int SamplesMax = 300;

    private readonly Lock _lock = new();
    private readonly Queue<StatsSample> _samples = new(SamplesMax);
    private Counts _counts = Counts.Of(group, requests, http3);
    private long _number;

    public void Take()
    {
        Counts before = _counts;
        _counts = Counts.Of(group, requests, http3);
        (RequestTotals now, RequestTotals then) = (_counts.Requests, before.Requests);
        long[] durations = Difference(now.Durations, then.Durations);
        var sample = new StatsSample(
            ++_number,
            DateTimeOffset.UtcNow.ToUnixTimeMilliseconds(),
            Math.Round(Stopwatch.GetElapsedTime(before.TakenAt, _counts.TakenAt).TotalSeconds, 4),
            Difference(now.ByClass, then.ByClass),
            Difference(now.ByProtocol, then.ByProtocol),
            now.NotModified - then.NotModified,
            now.BodyBytes - then.BodyBytes,
            Difference(now.ByOrigin, then.ByOrigin),
            Difference(now.ByCoding, then.ByCoding),
            SecondsOf(DurationScale.QuantileOf(durations, 0.5)),
            SecondsOf(DurationScale.QuantileOf(durations, 0.99)),
            group.Reactors.Sum(static reactor => (long)reactor.Connections.Count) + http3.Connections,
            _counts.Accepted - before.Accepted,
            _counts.TurnedAway - before.TurnedAway,
            [.. group.Reactors.Select(reactor => Math.Round(takeLag(reactor.Index), 7))],
            Math.Round((_counts.ProcessorTime - before.ProcessorTime) / Stopwatch.GetElapsedTime(before.TakenAt, _counts.TakenAt), 4),
            Environment.WorkingSet);
        lock (_lock)
        {
            if (_samples.Count == SamplesMax)
            {
                _samples.Dequeue();
            }

            _samples.Enqueue(sample);
        }
    }

    /// <summary>The samples after a number, in order. A number above all is from another process, and returns all samples.</summary>
    public IReadOnlyList<StatsSample> After(long number)
    {
        lock (_lock)
        {
            long last = _samples.Count == 0 ? 0 : _samples.Last().N;
            return [.. _samples.Where(sample => number > last || sample.N > number)];
        }
    }

    private static double? SecondsOf(long? ticks) =>
        ticks is long known ? Math.Round((double)known / TimeSpan.TicksPerSecond, 8) : null;

    private static long[] Difference(IReadOnlyList<long> after, IReadOnlyList<long> before) =>
        [.. after.Zip(before, static (later, earlier) => later - earlier)];

    /// <summary>All counters at one moment.</summary>
    private sealed record Counts(RequestTotals Requests, long Accepted, long TurnedAway, TimeSpan ProcessorTime, long TakenAt)
    {
        public static Counts Of(ReactorGroup group, RequestMeter requests, Http3Listeners http3) => new(
            requests.Total(),
            group.Reactors.Sum(static reactor => reactor.Counters.Accepted) + http3.Counters.Sum(static one => one.Accepted),
            group.Reactors.Sum(static reactor => reactor.Counters.Shed + reactor.Counters.Refused)
                + http3.Counters.Sum(static one => one.Refused),
            Environment.CpuUsage.TotalTime,
            Stopwatch.GetTimestamp());
    }
}

/// <summary>Statistics of about one second. The members, in camel case, are the page's JSON.</summary>
/// <param name="N">Consecutive number; the first is 1.</param>
/// <param name="AtMs">The end of the interval, in milliseconds since 1970.</param>
/// <param name="Seconds">The length of the interval.</param>
/// <param name="ByClass">Requests by the first digit of their status; 0 for those without a response.</param>
/// <param name="ByProtocol">Requests, indexed by <see cref="Http.HttpVersion"/>.</param>
/// <param name="NotModified">Requests with status 304.</param>
/// <param name="BodyBytes">Bytes of bodies.</param>
/// <param name="ByStrategy">Requests by source of the body, indexed by <see cref="HttpServer.Exchanges.ResponseBodySource"/>.</param>
/// <param name="ByCoding">Bodies, indexed by <see cref="Http.ContentCoding"/>.</param>
/// <param name="P50">The median duration in seconds; null without requests.</param>
/// <param name="P99">The 99th percentile of durations; null without requests.</param>
/// <param name="Connections">Open connections at the end of the interval.</param>
/// <param name="Accepted">Accepted connections.</param>
/// <param name="TurnedAway">Connections above a limit: reset, or refused with 503.</param>
/// <param name="Lag">The worst loop lag of each reactor, in seconds.</param>
/// <param name="Processors">The processor time of the process by the length of the interval: 1 is one processor.</param>
/// <param name="MemoryBytes">The resident memory of the process at the end of the interval.</param>
internal sealed record StatsSample(
    long N,
    long AtMs,
    double Seconds,
    IReadOnlyList<long> ByClass,
    IReadOnlyList<long> ByProtocol,
    long NotModified,
    long BodyBytes,
    IReadOnlyList<long> ByStrategy,
    IReadOnlyList<long> ByCoding,
    double? P50,
    double? P99,
    long Connections,
    long Accepted,
    long TurnedAway,
    IReadOnlyList<double> Lag,
    double Processors,
    long MemoryBytes);

/// <summary>What the live page requests each second. The members, in camel case, are its JSON.</summary>
internal sealed record Stats(
    string Version,
    string Backend,
    string State,
    string? Trouble,
    int Reactors,
    long Assets,
    long StartedAtMs,
    long Requests,
    long BodyBytes,
    IReadOnlyList<StatsCertificate> Certificates,
    IReadOnlyList<StatsUpstream> Upstreams,
    IReadOnlyList<StatsPath> NotFound,
    IReadOnlyList<StatsSample> Samples);

/// <summary>A path that was answered with 404, and how often at least since the start.</summary>
internal sealed record StatsPath(string Path, long Count);

/// <summary>
/// An application that requests are sent to: its target, whether requests are sent to it now, its connections now, and its requests since
/// the start. A rule with several targets is one more, with a health of null and the failures that concern none of them.
/// </summary>
internal sealed record StatsUpstream(string Upstream, bool? Healthy, int Connections, int Waiting, long Requests, long Failures)
{
    public static StatsUpstream Of(UpstreamStatus one) => new(
        one.Upstream, one.IsHealthy, one.Total.Connections, one.Total.Waiting, one.Total.Requests, one.Total.Failed);
}

/// <summary>
/// A certificate: its hosts in one text, its file, its expiry in milliseconds since 1970, whether it is "valid", "due" for renewal or
/// "invalid", and its validity in a clause, with its renewal if the server renews it. The file is empty, and the expiry 0, for one that is
/// still to be obtained.
/// </summary>
internal sealed record StatsCertificate(string Hosts, string File, long ExpiresMs, string State, string Validity)
{
    public static IReadOnlyList<StatsCertificate> All(
        IReadOnlyList<ServedCertificate> served, IReadOnlyList<AcmeCertificate> obtained, DateTimeOffset now) =>
    [
        .. served.Select(one => Of(one, obtained.FirstOrDefault(other => other.File == one.File), now)),
        .. obtained.Where(static one => one.File is null).Select(static one =>
            new StatsCertificate(string.Join(", ", one.Names), "", 0, "invalid", $"is being obtained{RenewalOf(one)}")),
    ];

    private static StatsCertificate Of(ServedCertificate one, AcmeCertificate? obtained, DateTimeOffset now) => new(
        one.Hosts,
        one.File,
        one.Expiry.ToUnixTimeMilliseconds(),
        one.StateAt(now) switch
        {
            CertificateState.Valid => obtained?.LastError is null ? "valid" : "due",
            CertificateState.Due => "due",
            _ => "invalid",
        },
        one.Validity(now) + (obtained is null ? "" : RenewalOf(obtained)));

    private static string RenewalOf(AcmeCertificate one)
    {
        string next = one.NextRenewal is { } time
            ? string.Create(CultureInfo.InvariantCulture, $"{time.UtcDateTime:yyyy-MM-dd HH:mm} UTC")
            : "now";
        return one.LastError is { } error ? $"; the last attempt failed ({error}); next attempt: {next}"
            : one.File is null ? ""
            : $"; renewal: {next}";
    }
}

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, GenerationMode = JsonSourceGenerationMode.Serialization)]
[JsonSerializable(typeof(Stats))]
internal sealed partial class StatsJson : JsonSerializerContext;
