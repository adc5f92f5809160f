#if !DEBUG // A Debug build keeps ledgers of what was lent, and they allocate.
using System.Text;
using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>The hot path does not allocate: measured on the reactor's own thread, around ten thousand requests.</summary>
public class AllocationTests : SiteFixture
{
    private const int Requests = 10_000;
    private const int InOneBatch = 4;

    /// <summary>A file in chunks has several: a quarter of the requests reads and sends as many of them.</summary>
    private static int RequestsOf(int size) => size > 100_000 ? Requests / 4 : Requests;

    [Theory]
    [InlineData("copied behind the head", 10_000)]
    [InlineData("by reference", 50_000)]
    [InlineData("one read", 100_000)]
    [InlineData("chunks", 600_000)]
    public async Task Ten_thousand_requests_allocate_nothing(string way, int size)
    {
        Folder.AddSized(size);
        RunningSite site = await StartAsync();
        using Wire wire = await site.ConnectAsync();
        Reactor reactor = site.Group.Reactors[0];
        // The first requests compile, fill pools and make the asset's head; tiered compilation comes after 30 calls and 100 ms.
        await ServeAsync(wire, size, Requests / 5, way);
        await ReactorAllocations.AssertNoneAsync(reactor, rounds: 4, () => ServeAsync(wire, size, RequestsOf(size), way));
    }

    [Theory]
    [InlineData("copied behind the head", 10_000)]
    [InlineData("by reference", 50_000)]
    [InlineData("one read", 100_000)]
    [InlineData("chunks", 600_000)]
    public async Task An_observer_of_them_changes_nothing_about_that(string way, int size)
    {
        Folder.AddSized(size);
        var observer = new CountingObserver();
        RunningSite site = await StartAsync(observe: _ => observer.OnFinished);
        using Wire wire = await site.ConnectAsync();
        await ServeAsync(wire, size, Requests / 5, way);
        await ReactorAllocations.AssertNoneAsync(site.Group.Reactors[0], rounds: 4, () => ServeAsync(wire, size, RequestsOf(size), way));
        Assert.True(observer.Reported >= RequestsOf(size));
    }

    [Theory]
    [InlineData("GET /none")]
    [InlineData("GET /none", "Accept: text/html,*/*;q=0.8")]
    [InlineData("GET /none", "Accept: text/html,*/*;q=0.8\r\nAccept-Encoding: gzip, br")]
    [InlineData("HEAD /f600000.bin")]
    [InlineData("GET /dir?q")]
    [InlineData("DELETE /f600000.bin")]
    public async Task Responses_without_a_body_of_a_file_allocate_nothing(string request, string field = "A: b")
    {
        Folder.AddSized(600_000);
        Folder.Add("/dir/index.html", SiteFolder.Bytes(9));
        RunningSite site = await StartAsync();
        using Wire wire = await site.ConnectAsync();
        Reactor reactor = site.Group.Reactors[0];
        string text = $"{request} HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n";
        string method = request.Split(' ')[0];
        await AskAsync(Requests / 5);
        await ReactorAllocations.AssertNoneAsync(reactor, rounds: 3, () => AskAsync(Requests));

        async Task AskAsync(int count)
        {
            for (int i = 0; i < count; i++)
            {
                await wire.SendAsync(text);
                _ = await wire.ReadResponseAsync(method);
            }
        }
    }

    [Theory]
    [InlineData("copied behind the head", 10_000, "Range: bytes=100-199")]
    [InlineData("by reference", 50_000, "Range: bytes=100-")]
    [InlineData("one read", 100_000, "Range: bytes=100-99000")]
    [InlineData("chunks", 600_000, "Range: bytes=-550000")]
    [InlineData("not modified", 10_000, "If-None-Match: *")]
    [InlineData("not modified since", 100_000, "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT")]
    [InlineData("a coding", 10_000, "Accept-Encoding: gzip, br;q=0.5, *;q=0")]
    public async Task Parts_conditions_and_codings_allocate_nothing(string way, int size, string field)
    {
        Folder.AddGzip(SiteFolder.Target(size), Folder.AddSized(size));
        RunningSite site = await StartAsync();
        using Wire wire = await site.ConnectAsync();
        Reactor reactor = site.Group.Reactors[0];
        string text = $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\nUser-Agent: {way}\r\n{field}\r\n\r\n";
        await AskAsync(Requests / 5);
        await ReactorAllocations.AssertNoneAsync(reactor, rounds: 4, () => AskAsync(RequestsOf(size)));

        async Task AskAsync(int count)
        {
            for (int i = 0; i < count; i++)
            {
                await wire.SendAsync(text);
                _ = await wire.ReadResponseAsync();
            }
        }
    }

    private static async Task ServeAsync(Wire wire, int size, int count, string way)
    {
        byte[] one = Encoding.ASCII.GetBytes($"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\nUser-Agent: {way}\r\n\r\n");
        byte[] batch = [.. Enumerable.Repeat(one, InOneBatch).SelectMany(static bytes => bytes)];
        for (int served = 0; served < count; served += InOneBatch)
        {
            await wire.SendAsync(batch);
            for (int i = 0; i < InOneBatch; i++)
            {
                await wire.SkipResponseAsync();
            }
        }
    }
}
#endif
