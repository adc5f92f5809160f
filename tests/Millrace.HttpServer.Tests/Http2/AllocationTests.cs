#if !DEBUG // A Debug build keeps ledgers of what was lent, and they allocate.
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>The hot path does not allocate: measured on the reactor's own thread, around thousands of requests.</summary>
public class AllocationTests : SiteFixture
{
    private const int Requests = 4_000;
    private const int InOneBatch = 16;

    [Theory]
    [InlineData("at once", 10_000, "x: y")]
    [InlineData("frame by frame", 50_000, "x: y")]
    [InlineData("by one read", 100_000, "x: y")]
    [InlineData("by several", 300_000, "x: y")]
    [InlineData("in part", 100_000, "range: bytes=1000-50000")]
    [InlineData("not modified", 10_000, "if-none-match: *")]
    [InlineData("shared", 100_000, "priority: u=1, i")]
    [InlineData("a coding", 10_000, "accept-encoding: gzip, br;q=0.5, *;q=0")]
    public Task Thousands_of_requests_allocate_nothing(string way, int size, string field) =>
        AssertNothingIsAllocatedAsync(way, size, field, observer: null);

    [Theory]
    [InlineData("text/html,*/*;q=0.8")]
    [InlineData("*/*")]
    public Task Thousands_of_errors_that_no_plan_decides_on_allocate_nothing(string accept) => AssertNothingIsAllocatedAsync(
        Block.Of((":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/"), ("accept", accept)),
        Requests,
        observer: null);

    [Theory]
    [InlineData("at once", 10_000, "referer: z")]
    [InlineData("by several", 300_000, "x-forwarded-for: z")]
    public async Task An_observer_of_them_changes_nothing_about_that(string way, int size, string field)
    {
        var observer = new CountingObserver();
        await AssertNothingIsAllocatedAsync(way, size, field, observer);
        Assert.True(observer.Reported >= Requests / 8);
    }

    private async Task AssertNothingIsAllocatedAsync(string way, int size, string field, CountingObserver? observer)
    {
        Folder.AddGzip(SiteFolder.Target(size), Folder.AddSized(size));
        byte[] block = [.. Block.Get(SiteFolder.Target(size), field), .. Block.Of(("user-agent", way))];
        await AssertNothingIsAllocatedAsync(block, size > 100_000 ? Requests / 8 : Requests, observer);
    }

    private async Task AssertNothingIsAllocatedAsync(byte[] block, int count, CountingObserver? observer)
    {
        RunningSite site = await StartAsync(observe: observer is null ? null : _ => observer.OnFinished);
        Http2Wire client = await Http2Wire.OpenAsync(site, true, 0, (SettingId.InitialWindowSize, 1u << 30));
        await client.SendAsync(Frame.WindowUpdate(0, 1u << 30));
        int streamId = 1;

        // The first requests compile, fill pools and make the asset's head; tiered compilation comes after 30 calls and 100 ms.
        await ServeAsync(count);
        await ReactorAllocations.AssertNoneAsync(site.Group.Reactors[0], rounds: 4, () => ServeAsync(count));

        async Task ServeAsync(int requests)
        {
            for (int served = 0; served < requests; served += InOneBatch)
            {
                await client.SendAsync([.. Enumerable.Range(0, InOneBatch).Select(_ => Frame.Headers((streamId += 2) - 2, block))]);
                uint bytes = 0;
                for (int open = InOneBatch; open > 0;)
                {
                    Frame frame = await client.ReadFrameAsync();
                    open -= frame.IsLast ? 1 : 0;
                    bytes += frame.Type == FrameType.Data ? (uint)frame.Payload.Length : 0;
                }

                if (bytes > 0)
                {
                    await client.SendAsync(Frame.WindowUpdate(0, bytes));
                }
            }
        }
    }
}
#endif
