using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>Too many connections, and too little memory: the newest is asked to come again, and what has begun is finished.</summary>
public class OverloadTests : SiteFixture
{
    private const int LargeSize = 16 * 1024 * 1024;

    [Fact]
    public async Task Beyond_the_limit_a_request_is_answered_503_and_the_connection_ends()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(engine: WithLimits(new Limits { Connections = 1 }));
        Wire served = await site.ConnectAsync();
        (await served.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));

        using (Wire refused = await site.ConnectAsync())
        {
            await refused.SendAsync("GET /f1000.bin HT");
            await refused.SendAsync("TP/1.1\r\nHost: a\r\n\r\n");
            AssertIsRefusal(await refused.ReadResponseAsync());
            await refused.AssertEndsAsync();
        }

        (await served.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        served.Dispose();
        await UntilAsync(site, connections: 0);
        (await (await site.ConnectAsync()).GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.Contains("Turned away 1 connection:", Assert.Single(site.TakeWarnings()), StringComparison.Ordinal);
        Assert.Equal(1, site.Group.Reactors[0].Counters.Refused);
    }

    [Theory]
    [InlineData("Accept: text/html,*/*;q=0.8", "text/html; charset=utf-8", "<!DOCTYPE html>")]
    [InlineData("Accept: */*", "text/plain; charset=utf-8", "503 Service Unavailable")]
    public async Task A_refusal_is_a_page_for_browsers_and_a_line_of_text_for_others(string accept, string type, string begin)
    {
        RunningSite site = await StartAsync(engine: WithLimits(new Limits { Connections = 1 }));
        Wire served = await site.ConnectAsync();
        _ = await served.GetAsync("/");
        Wire refused = await site.ConnectAsync();

        await refused.SendAsync($"GET / HTTP/1.1\r\nHost: a\r\n{accept}\r\n\r\n");
        Response response = await refused.ReadResponseAsync();

        AssertIsRefusal(response);
        Assert.Equal(type, response.Field("Content-Type"));
        Assert.StartsWith(begin, response.Text, StringComparison.Ordinal);
        await refused.AssertEndsAsync();
        _ = site.TakeWarnings();
    }

    [Theory]
    [InlineData("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 503)]
    [InlineData("GET / HTTP/1.1\r\n\r\n", 400)]
    public async Task A_refusal_is_a_response_like_any_other(string request, int status)
    {
        RunningSite site = await StartAsync(engine: WithLimits(new Limits { Connections = 1 }));
        Wire served = await site.ConnectAsync();
        _ = await served.GetAsync("/");
        Wire refused = await site.ConnectAsync();

        await refused.SendAsync(request);

        Assert.Equal(status, (await refused.ReadResponseAsync(request[..4].Trim())).Status);
        await refused.AssertEndsAsync();
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task One_beyond_the_limit_that_asks_for_nothing_is_reset_soon()
    {
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { RefusedHead = TimeSpan.FromMilliseconds(150) },
            engine: WithLimits(new Limits { Connections = 1 }));
        Wire served = await site.ConnectAsync();
        _ = await served.GetAsync("/");
        Wire refused = await site.ConnectAsync();
        await refused.SendAsync("GET / HTTP/1.1\r\n");

        Assert.Equal(WireEnd.Reset, (await refused.ReadToEndAsync()).End);
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task Where_memory_runs_out_what_has_begun_is_finished_and_what_is_new_is_answered_503()
    {
        byte[] large = Folder.AddSized(LargeSize);
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(engine: WithLimits(new Limits { BufferBytes = 1200 * 1024 }));
        Wire fresh = await site.ConnectAsync();
        (await fresh.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        Wire[] slow = [await site.ConnectAsync(receiveBufferBytes: 4096), await site.ConnectAsync(receiveBufferBytes: 4096)];
        var heads = new List<Response>();
        foreach (Wire wire in slow)
        {
            await wire.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
            heads.Add(await wire.ReadHeadAsync());
        }

        await UntilAsync(() => AtHomeAsync(site, static reactor => reactor.IsOverloaded));
        await fresh.SendAsync("GET /f1000.bin HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n");
        Response refusal = await fresh.ReadResponseAsync();
        AssertIsRefusal(refusal);
        Assert.StartsWith("<!DOCTYPE html>", refusal.Text, StringComparison.Ordinal);
        await fresh.AssertEndsAsync();

        for (int i = 0; i < slow.Length; i++)
        {
            (heads[i] with { Body = await slow[i].ReadBytesAsync(LargeSize) }).AssertIsWhole(large);
        }

        await UntilAsync(async () => !await AtHomeAsync(site, static reactor => reactor.IsOverloaded));
        (await slow[0].GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.Single(site.TakeWarnings());
    }

    private static EngineOptions WithLimits(Limits limits) => new() { Reactors = 1, Limits = limits };

    private static void AssertIsRefusal(Response response)
    {
        Assert.Equal(503, response.Status);
        Assert.Equal("close", response.Field("Connection"));
        Assert.Equal("1", response.Field("Retry-After"));
    }

    private static Task UntilAsync(RunningSite site, int connections) => UntilAsync(async () => await site.ConnectionsAsync() == connections);

    private static async Task UntilAsync(Func<Task<bool>> condition)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        while (!await condition())
        {
            await Task.Delay(5, deadline.Token);
        }
    }

    private static Task<bool> AtHomeAsync(RunningSite site, Func<Reactor, bool> check)
    {
        Reactor reactor = site.Group.Reactors[0];
        var seen = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(_ => seen.SetResult(check(reactor)), null);
        return seen.Task.WaitAsync(TimeSpan.FromSeconds(60));
    }
}
