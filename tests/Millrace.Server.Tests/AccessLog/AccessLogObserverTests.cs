using Microsoft.Extensions.Logging.Abstractions;
using Millrace.HttpServer.Clients;
using Millrace.Server.AccessLog;
using Millrace.Server.Host;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;
using HttpExchange = Millrace.HttpServer.Exchanges.HttpExchange;

namespace Millrace.Server.Tests.AccessLog;

public class AccessLogObserverTests
{
    [Theory]
    [InlineData("Common")]
    [InlineData("Combined")]
    [InlineData("Json")]
    public void Ten_thousand_lines_allocate_nothing(string format)
    {
        using var folder = new TempFolder();
        using AccessLogger journal = AccessLogger.Open(
            new AccessLogOptions { Destination = folder.PathOf("access.log") }, new ClientOptions(), new ServiceOptions(),
            NullLoggerFactory.Instance)!;
        _ = journal.Start(1);
        var ring = new LineRing(1024 * 1024);
        var observer = new AccessLogObserver(
            journal, new LineFormat(Enum.Parse<AccessLogFormat>(format)), ClientFinder.Direct, ring);
        HttpExchange exchange = MadeExchange.Of(
            MadeExchange.Bytes("GET /a?b HTTP/1.1\r\nHost: a\r\nReferer: caf\u00e9\r\nUser-Agent: \"x\"\r\n\r\n"), bodyBytes: 17);
        byte[] room = new byte[1024 * 1024];

        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < 10_000; i++)
            {
                observer.OnFinished(exchange);
                if (i % 1_000 == 0)
                {
                    _ = ring.Take(room);
                }
            }

            _ = ring.Take(room);
        });

        Assert.Equal(0, allocated);
        Assert.Equal(0, ring.Dropped);
    }
}
