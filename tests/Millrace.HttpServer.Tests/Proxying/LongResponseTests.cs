using Millrace.Engine;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Responses that the kernel moves from the upstream's socket to the client's: nothing else about them is different.</summary>
public class LongResponseTests : ProxyTest
{
    private readonly RecordingObserver _observer = new();

    [Theory]
    [InlineData(50_000)]
    [InlineData(3_000_000)]
    public async Task A_long_response_is_whole_and_both_connections_serve_the_next(int size)
    {
        byte[] body = RandomBytes(size);
        await StartProxyAsync(observe: _ => _observer.OnFinished);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        for (int i = 0; i < 3; i++)
        {
            Task sending = SendAsync(upstream, body);
            (await client.ReadResponseAsync()).AssertIsWhole(body);
            await sending;
            SeenExchange seen = await _observer.NextAsync();
            Assert.Equal((size, true, ResponseBodySource.Upstream), (seen.BodyBytes, seen.IsWhole, seen.Body));
            await client.SendAsync(Get);
            await upstream.ReadHeadAsync();
        }

        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Short_and_long_responses_alternate_on_one_connection()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        int requests = 0;
        foreach (int size in Enumerable.Repeat(100, 3).Append(300_000).Concat(Enumerable.Repeat(3_000, 100)).Append(90_000).Append(4_096))
        {
            if (requests++ > 0)
            {
                await client.SendAsync(Get);
                await upstream.ReadHeadAsync();
            }

            byte[] body = RandomBytes(size);
            Task sending = SendAsync(upstream, body);
            (await client.ReadResponseAsync()).AssertIsWhole(body);
            await sending;
        }
    }

    [Fact]
    public async Task The_upstreams_connection_is_idle_after_a_long_response_and_ends_when_the_server_stops()
    {
        byte[] body = RandomBytes(500_000);
        await StartProxyAsync(upstreams: new UpstreamOptions { IdleFor = TimeSpan.FromMinutes(10) });
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        Task sending = SendAsync(upstream, body);
        (await client.ReadResponseAsync()).AssertIsWhole(body);
        await sending;
        client.Dispose();
        Task stopping = Site.Group.StopAsync(TimeSpan.FromMinutes(10));
        await upstream.AssertEndsAsync();
        upstream.Dispose();
        await stopping.WaitAsync(TimeSpan.FromMinutes(1), TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task A_client_that_reads_late_gets_all_of_it()
    {
        byte[] body = RandomBytes(30_000_000);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        Task sending = SendAsync(upstream, body);
        // Sleeps: the sockets on both sides are to be full.
        await Task.Delay(500, TestContext.Current.CancellationToken);
        Assert.False(sending.IsCompleted);
        (await client.ReadResponseAsync()).AssertIsWhole(body);
        await sending;
    }

    /// <summary>The limits leave room for one block of 256 KiB and for no more.</summary>
    [Fact]
    public async Task Where_memory_ends_for_what_a_client_does_not_take_others_are_served()
    {
        byte[] file = Folder.AddSized(1000);
        await StartProxyAsync(engine: new EngineOptions { Reactors = 1, Limits = new Limits { BufferBytes = 200_000 } });
        Wire other = await Site.ConnectAsync();
        (await other.GetAsync("/f1000.bin")).AssertIsWhole(file);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        Task sending = SendAsync(upstream, RandomBytes(30_000_000));
        // Sleeps: the sockets on both sides are to be full.
        await Task.Delay(500, TestContext.Current.CancellationToken);
        (await other.GetAsync("/f1000.bin")).AssertIsWhole(file);
        client.Reset();
        await Assert.ThrowsAnyAsync<Exception>(() => sending);
        Assert.Contains("Turned away 1 connection:", Assert.Single(Site.TakeWarnings()), StringComparison.Ordinal);
    }

    /// <summary>Its filter, as TLS, finds no memory when the first bytes of the response are sent, before others are moved.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_client_whose_filter_fails_at_a_long_response_ends_without_the_others(bool isHttp2)
    {
        Folder.Add("/small.txt", "small"u8.ToArray());
        await StartProxyAsync();
        Wire client = await Site.ConnectStagedAsync(0, failsFrom: 3_000);
        if (isHttp2)
        {
            Http2Wire http2 = await Http2Wire.OpenOnAsync(client, opensWindows: false);
            await http2.SendAsync(Frame.Headers(1, Block.Get("/api/a")));
        }
        else
        {
            await client.SendAsync(Get);
        }

        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        byte[] response = [.. "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"u8, .. RandomBytes(200_000)];
        await upstream.SendAsync(response);
        Assert.Equal(WireEnd.Reset, (await client.ReadToEndAsync()).End);
        await upstream.AssertEndsAsync();
        Assert.Equal("small", (await (await Site.ConnectAsync()).GetAsync("/small.txt")).Text);
        _ = Site.TakeWarnings();
    }

    [Fact]
    public async Task A_response_that_its_upstream_cuts_does_not_look_whole()
    {
        await StartProxyAsync(observe: _ => _observer.OnFinished);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        await upstream.SendAsync(RandomBytes(900_000));
        upstream.FinishSending();
        Assert.Equal(WireEnd.Reset, (await client.ReadToEndAsync()).End);
        Assert.False((await _observer.NextAsync()).IsWhole);
    }

    [Fact]
    public async Task A_client_that_leaves_ends_the_upstreams_connection()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
        await upstream.SendAsync(RandomBytes(300_000));
        await client.ReadBytesAsync(100_000);
        client.Reset();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task Bytes_after_a_long_response_go_to_nobody()
    {
        byte[] body = RandomBytes(200_000);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        Task sending = SendAsync(upstream, [.. body, .. "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"u8], body.Length);
        (await client.ReadResponseAsync()).AssertIsWhole(body);
        await sending;
        await upstream.AssertEndsAsync();
        await client.SendAsync(Get);
        using UpstreamWire next = await Upstream.AcceptAsync();
        await next.ReadHeadAsync();
        await next.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }
}
