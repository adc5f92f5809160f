#if !DEBUG // A Debug build keeps ledgers of what was lent, and they allocate.
using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>The hot path does not allocate: measured on the reactor's own thread, around thousands of requests.</summary>
public class AllocationTests : Http3Test
{
    private const int Requests = 4_000;
    private const int AtOnce = 16;

    [Theory]
    [InlineData(10_000, "x: y")]
    [InlineData(50_000, "x: y")]
    [InlineData(100_000, "x: y")]
    [InlineData(300_000, "x: y")]
    [InlineData(100_000, "range: bytes=1000-50000")]
    [InlineData(10_000, "if-none-match: *")]
    [InlineData(100_000, "priority: u=1, i")]
    public Task Thousands_of_requests_allocate_nothing(int size, string field) => AssertNothingIsAllocatedAsync(size, field, observer: null);

    [Fact]
    public async Task An_observer_of_them_changes_nothing_about_that()
    {
        var observer = new CountingObserver();
        await AssertNothingIsAllocatedAsync(10_000, "referer: z", observer);
        Assert.True(observer.Reported >= Requests);
    }

    private async Task AssertNothingIsAllocatedAsync(int size, string field, CountingObserver? observer)
    {
        Folder.AddSized(size);
        byte[] request = Http3Bytes.Request("GET", SiteFolder.Target(size), field);
        RunningSite site = await StartAsync(observe: observer is null ? null : _ => observer.OnFinished);
        Http3TestConnection client = await (await site.ListenHttp3Async()).ConnectAsync();
        int count = size > 50_000 ? Requests / 8 : Requests;

        // The first requests compile, fill pools and make the asset's head; tiered compilation comes after 30 calls and 100 ms.
        await ServeAsync();
        await ReactorAllocations.AssertNoneAsync(site.Group.Reactors[0], rounds: 6, ServeAsync);

        async Task ServeAsync()
        {
            for (int served = 0; served < count; served += AtOnce)
            {
                await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(async _ =>
                {
                    Http3TestStream stream = await client.SendAsync(request);
                    await stream.ReadToEndAsync();
                    await stream.Closed;
                }));
            }
        }
    }
}
#endif
