using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class DrainTests : SiteFixture
{
    private const int LargeSize = 16 * 1024 * 1024;

    private static readonly TimeSpan LongDrain = TimeSpan.FromSeconds(120);

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_download_under_way_is_finished_and_idle_connections_end_at_once()
    {
        byte[] bytes = Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync();
        Wire download = await site.ConnectAsync(receiveBufferBytes: 4096);
        Wire idle = await site.ConnectAsync();
        Wire fresh = await site.ConnectAsync();
        Wire trailing = await site.ConnectAsync();
        await trailing.SendAsync("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n");
        Assert.Equal(405, (await trailing.ReadResponseAsync()).Status);
        Assert.Equal(404, (await idle.GetAsync("/none")).Status);
        await download.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await download.ReadHeadAsync();

        Task stopping = site.Group.StopAsync(LongDrain);

        await idle.AssertEndsAsync();
        await fresh.AssertEndsAsync();
        await trailing.AssertEndsAsync();
        Assert.False(await site.AcceptsAsync());
        Assert.False(stopping.IsCompleted);
        (head with { Body = await download.ReadBytesAsync(LargeSize) }).AssertIsWhole(bytes);
        await download.AssertEndsAsync();
        download.Dispose();
        idle.Dispose();
        fresh.Dispose();
        trailing.Dispose();
        await stopping.WaitAsync(LongDrain / 2);
    }

    [Fact]
    public async Task Requests_that_come_while_stopping_are_answered_and_marked_as_the_last()
    {
        byte[] bytes = Folder.AddSized(LargeSize);
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        Wire beginning = await site.ConnectAsync();
        Wire pipelining = await site.ConnectAsync(receiveBufferBytes: 4096);
        Wire posting = await site.ConnectAsync();
        Wire idle = await site.ConnectAsync();
        await pipelining.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await pipelining.ReadHeadAsync();
        await posting.SendAsync("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
        Assert.Equal(405, (await posting.ReadResponseAsync()).Status);
        await beginning.SendAsync("GET /f1000.bin HTTP/1.1\r\nHo");
        // It has been read once the server has answered something that came after it.
        Assert.Equal(404, (await idle.GetAsync("/none")).Status);

        Task stopping = site.Group.StopAsync(LongDrain);
        await idle.AssertEndsAsync();

        await beginning.SendAsync("st: a\r\n\r\n");
        await AssertIsLastAsync(beginning);
        await posting.SendAsync("cdGET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        await AssertIsLastAsync(posting);
        await pipelining.SendAsync("GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        (head with { Body = await pipelining.ReadBytesAsync(LargeSize) }).AssertIsWhole(bytes);
        await AssertIsLastAsync(pipelining);
        idle.Dispose();
        await stopping.WaitAsync(LongDrain / 2);
    }

    [Fact]
    public async Task A_download_that_outlasts_the_drain_is_reset()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync();
        Wire download = await site.ConnectAsync(receiveBufferBytes: 4096);
        await download.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.0\r\n\r\n");
        _ = await download.ReadHeadAsync();

        await site.Group.StopAsync(TimeSpan.FromMilliseconds(200));

        (byte[] bytes, WireEnd end) = await download.ReadToEndAsync();
        Assert.Equal(WireEnd.Reset, end);
        Assert.True(bytes.Length < LargeSize);
    }

    private static async Task AssertIsLastAsync(Wire wire)
    {
        Response response = await wire.ReadResponseAsync();
        response.AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.Equal("close", response.Field("Connection"));
        await wire.AssertEndsAsync();
        wire.Dispose();
    }
}
