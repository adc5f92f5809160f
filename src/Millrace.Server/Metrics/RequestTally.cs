using System.Diagnostics.Metrics;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>
/// Counts the finished requests of one reactor, in plain counters that only its thread writes and any thread reads. Allocates nothing,
/// waits for nothing.
/// </summary>
/// <param name="each">Receives each duration while it has a listener.</param>
internal sealed class RequestTally(Histogram<double> each)
{
    public static readonly int Methods = Enum.GetValues<Method>().Length;
    public static readonly int Protocols = Enum.GetValues<HttpVersion>().Length;
    public static readonly int Codings = ContentCodings.Count;
    public static readonly int Origins = Enum.GetValues<ResponseBodySource>().Length;

    /// <summary>What requests are counted by.</summary>
    public static IEnumerable<(int Method, int Protocol, int Slot)> RequestKinds =>
        from method in Enumerable.Range(0, Methods)
        from protocol in Enumerable.Range(0, Protocols)
        from slot in Enumerable.Range(0, StatusIndex.Count)
        select (method, protocol, slot);

    /// <summary>What responses are counted by.</summary>
    public static IEnumerable<(int Coding, int Origin)> BodyKinds =>
        from coding in Enumerable.Range(0, Codings)
        from origin in Enumerable.Range(0, Origins)
        select (coding, origin);

    private readonly long[] _requests = new long[Methods * Protocols * StatusIndex.Count];
    private readonly long[] _bodies = new long[Codings * Origins];
    private long _bodyBytes;

    public DurationHistogram Durations { get; } = new();

    /// <summary>The paths of requests answered with 404.</summary>
    public FrequentPaths NotFound { get; } = new();

    public long BodyBytes => Volatile.Read(ref _bodyBytes);

    /// <summary>Counts a request. The reactor's thread.</summary>
    public void OnFinished(HttpExchange exchange)
    {
        Method method = Counted(Http.Methods.Of(exchange.Method));
        TimeSpan elapsed = exchange.Elapsed;
        _requests[RequestIndex((int)method, (int)exchange.Protocol, StatusIndex.Of(exchange.Status))]++;
        _bodies[BodyIndex((int)exchange.Coding, (int)exchange.Body)]++;
        _bodyBytes += exchange.BodyBytes;
        Durations.Record(elapsed.Ticks);
        if (exchange.Status == 404)
        {
            NotFound.Add(exchange.Target);
        }

        if (each.Enabled)
        {
            each.Record(elapsed.TotalSeconds);
        }
    }

    public long Requests(int method, int protocol, int slot) => Volatile.Read(ref _requests[RequestIndex(method, protocol, slot)]);

    public long Bodies(int coding, int origin) => Volatile.Read(ref _bodies[BodyIndex(coding, origin)]);

    /// <summary>Methods other than those a site supports are counted together.</summary>
    private static Method Counted(Method method) =>
        method is Method.Get or Method.Head or Method.Options or Method.Post ? method : Method.Unknown;

    private static int RequestIndex(int method, int protocol, int slot) => (((method * Protocols) + protocol) * StatusIndex.Count) + slot;

    private static int BodyIndex(int coding, int origin) => (coding * Origins) + origin;
}

/// <summary>The sums of all reactors' tallies at one moment.</summary>
internal sealed record RequestTotals
{
    /// <summary>By the first digit of the status: element 4 counts 4xx, element 0 requests without a response.</summary>
    public long[] ByClass { get; } = new long[6];

    /// <summary>Indexed by <see cref="HttpVersion"/>.</summary>
    public long[] ByProtocol { get; } = new long[RequestTally.Protocols];

    public long NotModified { get; private set; }

    public long BodyBytes { get; private set; }

    public long[] ByOrigin { get; } = new long[RequestTally.Origins];

    /// <summary>Responses with a body.</summary>
    public long[] ByCoding { get; } = new long[RequestTally.Codings];

    public long[] Durations { get; } = new long[DurationScale.Buckets];

    public long Requests => ByClass.Sum();

    public void Add(RequestTally tally)
    {
        foreach ((int method, int protocol, int slot) in RequestTally.RequestKinds)
        {
            int status = StatusIndex.StatusAt(slot);
            long count = tally.Requests(method, protocol, slot);
            ByClass[status == StatusIndex.Other ? 4 : status / 100] += count;
            ByProtocol[protocol] += count;
            NotModified += status == 304 ? count : 0;
        }

        foreach ((int coding, int origin) in RequestTally.BodyKinds)
        {
            long count = tally.Bodies(coding, origin);
            ByOrigin[origin] += count;
            ByCoding[coding] += origin == (int)ResponseBodySource.None ? 0 : count;
        }

        BodyBytes += tally.BodyBytes;
        tally.Durations.AddTo(Durations);
    }
}

/// <summary>
/// A dense index of Millrace's statuses, so that counts by status fit a few cache lines. Other statuses, from a site's own rules, share the
/// last index.
/// </summary>
internal static class StatusIndex
{
    /// <summary>The result of <see cref="StatusAt"/> for the shared index.</summary>
    public const int Other = -1;

    private const int Range = 600;

    /// <summary>The first counts requests without a response, see <see cref="HttpServer.Exchanges.HttpExchange.NoResponse"/>.</summary>
    private static readonly int[] Known =
    [
        0, 200, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 410, 411, 412, 413, 414, 415, 416, 417, 421, 426,
        429, 431, 451, 500, 501, 503, 505,
    ];

    private static readonly byte[] Slots = Make();

    public static int Count => Known.Length + 1;

    public static int Of(int status) => (uint)status < Range ? Slots[status] : Known.Length;

    public static int StatusAt(int slot) => slot < Known.Length ? Known[slot] : Other;

    private static byte[] Make()
    {
        byte[] slots = new byte[Range];
        Array.Fill(slots, (byte)Known.Length);
        for (int i = 0; i < Known.Length; i++)
        {
            slots[Known[i]] = (byte)i;
        }

        return slots;
    }
}
