using System.Diagnostics;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class DeadlineTests : SiteFixture
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(300);
    private static readonly HttpServerLimits Limits = new() { KeepAlive = TimeSpan.FromMinutes(5) };

    [Theory]
    [InlineData("G")]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\n")]
    public async Task A_head_that_does_not_end_is_answered_408(string beginning)
    {
        Wire wire = await (await StartAsync(limits: Limits with { Head = Short })).ConnectAsync();
        long startedAt = Stopwatch.GetTimestamp();
        await wire.SendAsync(beginning);

        Response response = await wire.ReadResponseAsync();

        Assert.Equal(408, response.Status);
        Assert.Equal("close", response.Field("Connection"));
        Assert.True(Stopwatch.GetElapsedTime(startedAt) >= Short - ReactorClock.Coarseness);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task A_head_that_trickles_in_does_not_move_its_deadline()
    {
        RunningSite site = await StartAsync(limits: Limits with { Head = Short });
        int sent;
        do
        {
            Wire wire = await site.ConnectAsync();
            Task<Response> response = wire.ReadResponseAsync();
            await wire.SendAsync("GET / HTTP/1.1\r\nHost: a\r\nA: ");
            for (sent = 0; !response.IsCompleted; sent++)
            {
                await wire.SendAsync("a");
                await Task.WhenAny(response, Task.Delay(5));
            }

            Assert.Equal(408, (await response).Status);
        }
        // A machine that stood still all the while lets nothing trickle.
        while (sent < 2);
    }

    [Fact]
    public async Task The_second_request_of_a_connection_has_a_deadline_as_well()
    {
        Folder.AddSized(1);
        Wire wire = await (await StartAsync(limits: Limits with { Head = Short })).ConnectAsync();
        await wire.SendAsync("GET /f1.bin HTTP/1.1\r\nHost: a\r\n\r\nGET");

        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1));
        Assert.Equal(408, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("")]
    [InlineData("GET /f1.bin HTTP/1.1\r\nHost: a\r\n\r\n")]
    [InlineData("GET /f300000.bin HTTP/1.1\r\nHost: a\r\n\r\n")]
    [InlineData("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")]
    [InlineData("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n")]
    [InlineData("GET /f300000.bin HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\n")]
    [Trait("Duration", "Full")]
    public async Task An_idle_connection_ends_silently(string request)
    {
        Folder.AddSized(1);
        Folder.AddSized(300_000);
        var keepAlive = TimeSpan.FromSeconds(1);
        Wire wire = await (await StartAsync(limits: new HttpServerLimits { KeepAlive = keepAlive })).ConnectAsync();
        long startedAt = Stopwatch.GetTimestamp();
        if (request.Length > 0)
        {
            await wire.SendAsync(request);
            _ = await wire.ReadResponseAsync();
        }

        await wire.AssertEndsAsync();

        Assert.True(Stopwatch.GetElapsedTime(startedAt) >= keepAlive / 2);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task An_idle_connection_lives_on_with_every_request()
    {
        Folder.AddSized(1);
        var keepAlive = TimeSpan.FromMilliseconds(600);
        RunningSite site = await StartAsync(limits: new HttpServerLimits { KeepAlive = keepAlive });
        Wire wire = await site.ConnectAsync();
        long startedAt = Stopwatch.GetTimestamp();
        long askedAt = startedAt;
        while (Stopwatch.GetElapsedTime(startedAt) < 2 * keepAlive)
        {
            if (await Record.ExceptionAsync(async () => (await wire.GetAsync("/f1.bin")).AssertIsWhole(SiteFolder.Bytes(1))) is { } ended)
            {
                // Where the machine stood still the connection was idle, and it begins again.
                Assert.True(Stopwatch.GetElapsedTime(askedAt) > keepAlive / 2, ended.ToString());
                wire = await site.ConnectAsync();
                startedAt = Stopwatch.GetTimestamp();
            }

            askedAt = Stopwatch.GetTimestamp();
            await Task.Delay(20);
        }
    }

    [Theory]
    [InlineData("Content-Length: 4\r\n\r\nGET")]
    [InlineData("Transfer-Encoding: chunked\r\n\r\n4\r\nGET")]
    public async Task A_body_that_does_not_come_ends_the_connection(string rest)
    {
        Wire wire = await (await StartAsync(limits: Limits with { Body = Short })).ConnectAsync();
        await wire.SendAsync("POST / HTTP/1.1\r\nHost: a\r\n" + rest);

        Assert.Equal(405, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task A_head_that_comes_too_slowly_is_answered_408_long_before_its_deadline()
    {
        Wire wire = await (await StartAsync(limits: Limits with { ReceiveStall = Short })).ConnectAsync();
        Task<Response> response = wire.ReadResponseAsync();
        await wire.SendAsync("GET / HTTP/1.1\r\nHost: a\r\nA: ");
        while (!response.IsCompleted)
        {
            await wire.SendAsync("a");
            await Task.WhenAny(response, Task.Delay(Short / 5));
        }

        Assert.Equal(408, (await response).Status);
    }

    [Fact]
    public async Task A_body_that_comes_too_slowly_ends_the_connection()
    {
        Wire wire = await (await StartAsync(limits: Limits with { ReceiveStall = Short })).ConnectAsync();
        await wire.SendAsync("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n");
        Assert.Equal(405, (await wire.ReadResponseAsync()).Status);

        Task end = wire.ReadToEndAsync();
        while (!end.IsCompleted)
        {
            await wire.SendAsMuchAsWelcomeAsync("a"u8.ToArray());
            await Task.WhenAny(end, Task.Delay(Short / 5));
        }

        await end;
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_response_that_takes_longer_than_the_pause_between_requests_does_not_cost_the_next_one()
    {
        // The first fills what the kernel takes for a reader with a small window (TCP_NOTSENT_LOWAT), so that the second waits here,
        // which is little enough for the session to wait for a third request meanwhile.
        byte[] first = Folder.AddSized(250_000);
        byte[] second = Folder.AddSized(120_000);
        RunningSite site = await StartAsync(limits: Limits with { KeepAlive = TimeSpan.FromSeconds(1) });
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        await wire.SendAsync("GET /f250000.bin HTTP/1.1\r\nHost: a\r\n\r\nGET /f120000.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        // Sleeps: the kernel's window is what holds the response.
        await Task.Delay(TimeSpan.FromSeconds(2));

        (await wire.ReadResponseAsync()).AssertIsWhole(first);
        (await wire.ReadResponseAsync()).AssertIsWhole(second);

        (await wire.GetAsync("/f120000.bin")).AssertIsWhole(second);
    }
}
