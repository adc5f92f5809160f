using System.Diagnostics.Metrics;
using System.Net;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.Server.Metrics;
using Millrace.Tests.Shared;
using SeenExchange = Millrace.HttpServer.Exchanges.HttpExchange;

namespace Millrace.Server.Tests.Metrics;

public sealed class RequestTallyTests : IDisposable
{
    private readonly Meter _meter = new("Millrace.Sample");
    private readonly Histogram<double> _each;
    private readonly RequestTally _tally;

    public RequestTallyTests()
    {
        _each = _meter.CreateHistogram<double>("sample.duration");
        _tally = new RequestTally(_each);
    }

    [Theory]
    [InlineData(200)]
    [InlineData(404)]
    public void Counting_a_request_allocates_nothing(int status)
    {
        SeenExchange exchange = Answered(status, ResponseBodySource.InMemory);
        int counted = 0;

        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < 10_000; i++, counted++)
            {
                _tally.OnFinished(exchange);
            }
        });

        Assert.Equal(0, allocated);
        Assert.Equal(counted, Total().ByClass[status / 100]);
    }

    [Theory]
    [InlineData(200, 2)]
    [InlineData(304, 3)]
    [InlineData(404, 4)]
    [InlineData(503, 5)]
    [InlineData(SeenExchange.NoResponse, 0)]
    [InlineData(418, 4)]
    public void A_status_is_counted_in_its_class(int status, int digit)
    {
        _tally.OnFinished(Answered(status, ResponseBodySource.None));

        RequestTotals totals = Total();
        Assert.Equal(1, totals.Requests);
        Assert.Equal(1, totals.ByClass[digit]);
        Assert.Equal(status == 304 ? 1 : 0, totals.NotModified);
        Assert.Equal(1, totals.Durations.Sum());
    }

    [Fact]
    public void An_exchange_without_a_body_is_counted_under_no_coding()
    {
        _tally.OnFinished(Answered(304, ResponseBodySource.None));
        _tally.OnFinished(Answered(200, ResponseBodySource.SingleRead));

        RequestTotals totals = Total();
        Assert.Equal(1, totals.ByCoding.Sum());
        Assert.Equal(1, totals.ByOrigin[(int)ResponseBodySource.SingleRead]);
        Assert.Equal(1, totals.ByOrigin[(int)ResponseBodySource.None]);
    }

    public void Dispose() => _meter.Dispose();

    private static SeenExchange Answered(int status, ResponseBodySource body)
    {
        var exchange = new SeenExchange();
        exchange.Begin(new IPEndPoint(IPAddress.Loopback, 1));
        ReadOnlySpan<byte> request = "GET /none HTTP/1.1\r\nHost: a\r\n\r\n"u8;
        var head = new RequestHead();
        Assert.True(RequestHeadParser.Parse(request, head, HeadLimits.Default).IsComplete);
        exchange.Take(head, request, isRefused: false);
        exchange.SetResponse(status, body);
        exchange.End(0, ResponseEnd.Whole);
        exchange.Complete(0);
        return exchange;
    }

    private RequestTotals Total()
    {
        var totals = new RequestTotals();
        totals.Add(_tally);
        return totals;
    }
}
