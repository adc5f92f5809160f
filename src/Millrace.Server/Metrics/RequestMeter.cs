using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.Web.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>
/// Counts finished requests, each reactor for itself, and shows the sums as instruments of the meter <c>Millrace</c>. Any thread reads.
/// </summary>
internal sealed class RequestMeter : IDisposable
{
    public const string MeterName = "Millrace";

    /// <summary>The meter of .NET itself, which is shown beside it.</summary>
    public const string RuntimeMeterName = "System.Runtime";

    /// <summary>The instrument for who wants measurements one by one; <see cref="WriteDurations"/> is for who can do with sums.</summary>
    public const string DurationName = "millrace.request.duration";

    private const string DurationHelp = "From a request's head to its answer being with the kernel.";

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
        _meter.CreateObservableCounter("millrace.requests", ObserveRequests, "{request}", "Requests answered, or given up.");
        _meter.CreateObservableCounter(
            "millrace.bodies", ObserveBodies, "{body}", "Bodies of answers by content coding and where their bytes came from.");
        _meter.CreateObservableCounter(
            "millrace.body.sent", () => _tallies.Sum(static tally => tally.BodyBytes), "By", "Bytes of bodies handed to the kernel.");
    }

    /// <summary>Who counts for a reactor.</summary>
    public IExchangeObserver For(Reactor reactor) => _tallies[reactor.Index];

    public RequestTotals Total()
    {
        var totals = new RequestTotals();
        Array.ForEach(_tallies, totals.Add);
        return totals;
    }

    /// <summary>The durations as a family of their own: what the fine histogram counts, by fewer bounds.</summary>
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

    private IEnumerable<Measurement<long>> ObserveRequests()
    {
        for (int method = 0; method < RequestTally.Methods; method++)
        {
            for (int protocol = 0; protocol < RequestTally.Protocols; protocol++)
            {
                for (int slot = 0; slot < StatusSlots.Count; slot++)
                {
                    long count = _tallies.Sum(tally => tally.Requests(method, protocol, slot));
                    if (count > 0)
                    {
                        yield return new Measurement<long>(
                            count, new("method", NameOf((Method)method)), new("protocol", NameOf((ExchangeProtocol)protocol)),
                            new("status", NameOfStatus(StatusSlots.StatusAt(slot))));
                    }
                }
            }
        }
    }

    private IEnumerable<Measurement<long>> ObserveBodies()
    {
        for (int coding = 0; coding < RequestTally.Codings; coding++)
        {
            for (int origin = (int)ExchangeBody.None + 1; origin < RequestTally.Origins; origin++)
            {
                long count = _tallies.Sum(tally => tally.Bodies(coding, origin));
                if (count > 0)
                {
                    yield return new Measurement<long>(
                        count, new("coding", NameOf((ContentCoding)coding)), new("strategy", NameOf((ExchangeBody)origin)));
                }
            }
        }
    }

    private static string NameOf(Method method) => method == Method.Unknown ? "other" : method.ToString().ToUpperInvariant();

    private static string NameOf(ExchangeProtocol protocol) => protocol switch
    {
        ExchangeProtocol.Http10 => "1.0",
        ExchangeProtocol.Http11 => "1.1",
        _ => "2",
    };

    private static string NameOf(ExchangeBody origin) => origin.ToString().ToLowerInvariant();

    private static string NameOf(ContentCoding coding) => Encoding.ASCII.GetString(ContentCodings.NameOf(coding));

    private static string NameOfStatus(int status) => status switch
    {
        StatusSlots.Other => "other",
        Exchange.Unanswered => "unanswered",
        _ => status.ToString(CultureInfo.InvariantCulture),
    };
}
