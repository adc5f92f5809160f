using System.Diagnostics.Metrics;
using Millrace.Http;
using Millrace.Web.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>
/// What one reactor counts of the requests it has finished: plain numbers in memory of its own, which its thread alone writes and any
/// reads. Allocates nothing, takes no lock.
/// </summary>
/// <param name="each">Is told each duration, while somebody listens to it.</param>
internal sealed class RequestTally(Histogram<double> each) : IExchangeObserver
{
    public static readonly int Methods = Enum.GetValues<Method>().Length;
    public static readonly int Protocols = Enum.GetValues<ExchangeProtocol>().Length;
    public static readonly int Codings = ContentCodings.Count;
    public static readonly int Origins = Enum.GetValues<ExchangeBody>().Length;

    private readonly long[] _requests = new long[Methods * Protocols * StatusSlots.Count];
    private readonly long[] _bodies = new long[Codings * Origins];
    private long _bodyBytes;

    public DurationHistogram Durations { get; } = new();

    public long BodyBytes => Volatile.Read(ref _bodyBytes);

    /// <summary>Counts a request. The reactor's thread.</summary>
    public void OnFinished(Exchange exchange)
    {
        Method method = Counted(Http.Methods.Of(exchange.Method));
        TimeSpan elapsed = exchange.Elapsed;
        _requests[RequestIndex((int)method, (int)exchange.Protocol, StatusSlots.Of(exchange.Status))]++;
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

    /// <summary>Only those that a site answers to have a number of their own.</summary>
    private static Method Counted(Method method) =>
        method is Method.Get or Method.Head or Method.Options or Method.Post ? method : Method.Unknown;

    private static int RequestIndex(int method, int protocol, int slot) => (((method * Protocols) + protocol) * StatusSlots.Count) + slot;

    private static int BodyIndex(int coding, int origin) => (coding * Origins) + origin;
}
