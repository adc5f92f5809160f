using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>
/// Counts finished requests per reactor, and publishes the sums as instruments of the meter <c>Millrace</c>. Any thread reads.
/// </summary>
internal sealed class RequestMeter : IDisposable
{
    public const string MeterName = "Millrace";

    /// <summary>.NET's own meter, which is published too.</summary>
    public const string RuntimeMeterName = "System.Runtime";

    /// <summary>The instrument for listeners to single measurements; <see cref="WriteDurations"/> writes sums.</summary>
    public const string DurationName = "millrace.request.duration";

    private const string DurationHelp = "From a request's head until the kernel has accepted its whole response.";

    /// <summary>In seconds. Each is the edge of a bucket of <see cref="DurationScale"/>, so that the counts are exact.</summary>
    private static readonly double[] Bounds =
    [
        0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ];

    private readonly Meter _meter;
    private readonly RequestTally[] _tallies;

    public RequestMeter(int reactors)
    {
        _meter = new Meter(new MeterOptions(MeterName) { Scope = this });
        Histogram<double> each = _meter.CreateHistogram(
            DurationName, "s", DurationHelp, tags: null, new InstrumentAdvice<double> { HistogramBucketBoundaries = Bounds });
        _tallies = [.. Enumerable.Range(0, reactors).Select(_ => new RequestTally(each))];
        _meter.CreateObservableCounter("millrace.requests", ObserveRequests, "{request}", "Finished requests.");
        _meter.CreateObservableCounter(
            "millrace.bodies", ObserveBodies, "{body}", "Response bodies by content coding and source.");
        _meter.CreateObservableCounter(
            "millrace.body.sent",
            () => _tallies.Sum(static tally => tally.BodyBytes),
            "By",
            "Bytes of response bodies that the kernel accepted.");
    }

    public Action<HttpExchange> For(Reactor reactor) => _tallies[reactor.Index].OnFinished;

    public RequestTotals Total()
    {
        var totals = new RequestTotals();
        Array.ForEach(_tallies, totals.Add);
        return totals;
    }

    /// <summary>The paths that were answered with 404 most often, and how often at least.</summary>
    public IEnumerable<KeyValuePair<string, long>> MostNotFound(int count)
    {
        var counts = new Dictionary<string, long>();
        Array.ForEach(_tallies, tally => tally.NotFound.AddTo(counts));
        return counts.OrderByDescending(static one => one.Value).ThenBy(static one => one.Key, StringComparer.Ordinal).Take(count);
    }

    /// <summary>Writes the durations as a family: the fine histogram, reduced to these bounds.</summary>
    public void WriteDurations(PrometheusText text)
    {
        long[] fine = new long[DurationScale.Buckets];
        Array.ForEach(_tallies, tally => tally.Durations.AddTo(fine));
        long[] counts = new long[Bounds.Length + 1];
        int bound = 0;
        for (int i = 0; i < fine.Length; i++)
        {
            while (bound < Bounds.Length && DurationScale.TicksAt(i) >= TicksOf(Bounds[bound]))
            {
                bound++;
            }

            counts[bound] += fine[i];
        }

        double seconds = (double)_tallies.Sum(static tally => tally.Durations.SumTicks) / TimeSpan.TicksPerSecond;
        if (text.TryBegin("millrace_request_duration_seconds", "histogram", DurationHelp))
        {
            text.Histogram([], Bounds, counts, seconds);
        }
    }

    public void Dispose() => _meter.Dispose();

    private static long TicksOf(double seconds) => (long)Math.Round(seconds * TimeSpan.TicksPerSecond);

    private IEnumerable<Measurement<long>> ObserveRequests() =>
        from kind in RequestTally.RequestKinds
        let count = _tallies.Sum(tally => tally.Requests(kind.Method, kind.Protocol, kind.Slot))
        where count > 0
        select new Measurement<long>(
            count,
            new("method", NameOf((Method)kind.Method)),
            new("protocol", NameOf((HttpVersion)kind.Protocol)),
            new("status", NameOfStatus(StatusIndex.StatusAt(kind.Slot))));

    private IEnumerable<Measurement<long>> ObserveBodies() =>
        from kind in RequestTally.BodyKinds
        let count = _tallies.Sum(tally => tally.Bodies(kind.Coding, kind.Origin))
        where count > 0 && kind.Origin != (int)ResponseBodySource.None
        select new Measurement<long>(
            count, new("coding", NameOf((ContentCoding)kind.Coding)), new("strategy", NameOf((ResponseBodySource)kind.Origin)));

    private static string NameOf(Method method) => method == Method.Unknown ? "other" : method.ToString().ToUpperInvariant();

    private static string NameOf(HttpVersion protocol) => protocol switch
    {
        HttpVersion.Http10 => "1.0",
        HttpVersion.Http11 => "1.1",
        HttpVersion.Http2 => "2",
        _ => "3",
    };

    private static string NameOf(ResponseBodySource source) => source switch
    {
        ResponseBodySource.InMemory => "memory",
        ResponseBodySource.SingleRead => "read",
        ResponseBodySource.Stream => "streamed",
        _ => source.ToString().ToLowerInvariant(),
    };

    private static string NameOf(ContentCoding coding) => Encoding.ASCII.GetString(ContentCodings.NameOf(coding));

    private static string NameOfStatus(int status) => status switch
    {
        StatusIndex.Other => "other",
        HttpExchange.NoResponse => "unanswered",
        _ => status.ToString(CultureInfo.InvariantCulture),
    };
}
