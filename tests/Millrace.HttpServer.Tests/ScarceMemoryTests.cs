using System.Globalization;
using System.Text;
using Millrace.Engine;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests;

/// <summary>A reactor without memory for a response: its connection ends, and what the response was made of is given back.</summary>
public class ScarceMemoryTests : SiteFixture
{
    private const int LinesOfHead = 200;

    [Theory]
    [InlineData("/f1000.bin", "GET", "")]
    [InlineData("/f1000.bin", "HEAD", "")]
    [InlineData("/f50000.bin", "GET", "")]
    [InlineData("/f100000.bin", "GET", "")]
    [InlineData("/f100000.bin", "HEAD", "")]
    [InlineData("/f1000.bin", "GET", "bytes=0-9,20-29")]
    [InlineData("/f100000.bin", "GET", "bytes=0-9,20-29")]
    public async Task Where_there_is_none_for_a_head_its_file_is_not_kept(string target, string method, string range)
    {
        RunningSite site = await StartWithLargeHeadsAsync();
        Wire wire = await site.ConnectAsync();
        string field = range.Length > 0 ? $"Range: {range}\r\n" : "";
        await wire.SendAsync($"{method} {target} HTTP/1.1\r\nHost: a\r\n{field}\r\n");
        _ = await wire.ReadToEndAsync();
        await AssertIsServedAsync(site);

        Http2Wire client = await Http2Wire.OpenAsync(site);
        await client.SendAsync(Frame.Headers(1, Block.Request(method, target, range.Length > 0 ? [$"range: {range}"] : [])));
        _ = await client.Wire.ReadToEndAsync();
        await AssertIsServedAsync(site);
        Assert.NotEmpty(site.TakeWarnings());

        // What is left behind is seen when the site is closed.
    }

    [Fact]
    public async Task A_request_that_waited_until_there_was_none_is_answered_503_over_http2()
    {
        Folder.Add("/a.txt", "at first"u8.ToArray());
        RunningSite site = await StartAsync(
            static options => options with { Watch = WatchMode.Revalidate },
            engine: new EngineOptions { Reactors = 1, Limits = new Limits { BufferBytes = 1024 * 1024 } });
        Http2Wire client = await Http2Wire.OpenAsync(site);
        using var isLookedAt = new SemaphoreSlim(0);
        using var mayGoOn = new SemaphoreSlim(0);
        site.Catalog.Changed += HoldUp;
        Folder.Add("/a.txt", "as it is now"u8.ToArray());
        await client.SendAsync(Frame.Headers(1, Block.Get("/a.txt", "accept: text/html")));
        Assert.True(await isLookedAt.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        site.Catalog.Changed -= HoldUp;

        var taken = await AtHomeAsync(site, static reactor =>
        {
            var block = reactor.Pools.Rent(900 * 1024);
            reactor.Connections.InUse().Single().ChargeBlocks(block.Bytes);
            return block;
        });
        mayGoOn.Release();
        Response response = await client.ReadResponseAsync(1);
        await AtHomeAsync(site, reactor =>
        {
            reactor.Connections.InUse().Single().ChargeBlocks(-taken.Bytes);
            reactor.Pools.Return(taken);
            return taken;
        });

        Assert.Equal((503, "text/html; charset=utf-8"), (response.Status, response.Field("Content-Type")));
        Assert.StartsWith("<!DOCTYPE html>", response.Text, StringComparison.Ordinal);
        Assert.Equal("as it is now", (await client.GetAsync(3, "/a.txt")).Text);
        _ = site.TakeWarnings();

        void HoldUp()
        {
            isLookedAt.Release();
            mayGoOn.Wait();
        }
    }

    /// <summary>A site with heads of 800 KB, for which its reactor has not the memory.</summary>
    private async Task<RunningSite> StartWithLargeHeadsAsync()
    {
        Folder.AddSized(1000);
        Folder.AddSized(50_000);
        Folder.AddSized(100_000);
        Folder.Add("/small.txt", "small"u8.ToArray());
        var rules = new StringBuilder("/*.bin\n");
        for (int i = 0; i < LinesOfHead; i++)
        {
            rules.Append(CultureInfo.InvariantCulture, $"  X-{i}: {new string('x', 4_000)}\n");
        }

        Folder.Add("/_headers", Encoding.ASCII.GetBytes(rules.ToString()));
        return await StartAsync(
            static options => options with { DescriptorsMax = 0 },
            engine: new EngineOptions { Reactors = 1, Limits = new Limits { BufferBytes = 512 * 1024 } });
    }

    private static async Task AssertIsServedAsync(RunningSite site)
    {
        Wire wire = await site.ConnectAsync();
        Assert.Equal("small", (await wire.GetAsync("/small.txt")).Text);
    }

    private static Task<T> AtHomeAsync<T>(RunningSite site, Func<Reactor, T> check)
    {
        Reactor reactor = site.Group.Reactors[0];
        var seen = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(_ => seen.SetResult(check(reactor)), null);
        return seen.Task.WaitAsync(TimeSpan.FromSeconds(60));
    }
}
