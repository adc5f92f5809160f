using System.Diagnostics.Metrics;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>
/// Counts the finished requests of one reactor, in plain counters that only its thread writes and any thread reads. Allocates nothing,
/// takes no lock.
/// </summary>
/// <param name="each">Receives each duration while it has a listener.</param>
internal sealed class RequestTally(Histogram<double> each) : IExchangeObserver
{
    public static readonly int Methods = Enum.GetValues<Method>().Length;
    public static readonly int Protocols = Enum.GetValues<ExchangeProtocol>().Length;
    public static readonly int Codings = ContentCodings.Count;
    public static readonly int Origins = Enum.GetValues<ResponseBodySource>().Length;

    private readonly long[] _requests = new long[Methods * Protocols * StatusIndex.Count];
    private readonly long[] _bodies = new long[Codings * Origins];
    private long _bodyBytes;

    public DurationHistogram Durations { get; } = new();

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
