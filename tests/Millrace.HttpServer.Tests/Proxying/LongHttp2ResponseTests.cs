using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Responses whose frames' bytes the kernel moves from the upstream's socket to the client's: no frame is different.</summary>
public class LongHttp2ResponseTests : ProxyTest
{
    private const uint LargeWindow = 64 * 1024 * 1024;

    private readonly RecordingObserver _observer = new();

    private Http2Wire _client = null!;

    [Theory]
    [InlineData(50_000)]
    [InlineData(16_384 * 8)]
    [InlineData(3_000_000)]
    public async Task A_long_response_is_whole_and_both_connections_serve_the_next(int size)
    {
        byte[] body = RandomBytes(size);
        await StartProxyAsync(observe: _ => _observer.OnFinished);
        await OpenAsync();
        UpstreamWire? upstream = null;
        for (int streamId = 1; streamId < 7; streamId += 2)
        {
            await _client.SendAsync(Frame.Headers(streamId, Block.Get("/api/a")));
            upstream ??= await Upstream.AcceptAsync();
            await upstream.ReadHeadAsync();
            Task sending = SendAsync(upstream, body);
            Exchange exchange = await _client.ReadAsync(streamId);
            exchange.ToResponse().AssertIsWhole(body);
            Assert.All(exchange.DataBytes, static bytes => Assert.InRange(bytes, 0, 16_384));
            await sending;
            SeenExchange seen = await _observer.NextAsync();
            Assert.Equal((size, true, ResponseBodySource.Upstream), (seen.BodyBytes, seen.IsWhole, seen.Body));
        }
    }

    [Fact]
    public async Task The_last_frame_of_what_is_moved_ends_the_stream()
    {
        byte[] body = RandomBytes(100_000);
        UpstreamWire upstream = await BeginAsync(1);
        await SendAsync(upstream, body);
        Frame last = await _client.ReadUntilAsync(FrameType.Data, static frame => frame.IsLast);
        Assert.NotEmpty(last.Payload);
    }

    [Theory]
    [InlineData(65_535)]
    [InlineData(40_000)]
    [InlineData(1)]
    public async Task No_more_is_sent_than_the_client_allows(int window)
    {
        byte[] body = RandomBytes(300_000);
        await StartProxyAsync();
        _client = await Http2Wire.OpenAsync(Site, opensWindows: false, 0, (SettingId.InitialWindowSize, (uint)window));
        UpstreamWire upstream = await BeginAsync(1);
        Task sending = SendAsync(upstream, body);
        int received = 0;
        while (received < window)
        {
            Frame data = await _client.ReadUntilAsync(FrameType.Data);
            received += data.Payload.Length;
            await _client.TakeAsync(data);
        }

        Assert.Equal(window, received);
        await _client.SettleAsync();
        Assert.Equal(window, _client.Of(1).DataBytes.Sum());
        await _client.SendAsync(Frame.WindowUpdate(0, LargeWindow), Frame.WindowUpdate(1, LargeWindow));
        (await _client.ReadResponseAsync(1)).AssertIsWhole(body);
        await sending;
    }

    [Fact]
    public async Task A_client_that_reads_late_gets_all_of_it_and_other_streams_with_it()
    {
        byte[] body = RandomBytes(30_000_000);
        byte[] file = Folder.AddSized(100_000);
        await OpenAsync(receiveBufferBytes: 20_000);
        UpstreamWire upstream = await BeginAsync(1);
        Task sending = SendAsync(upstream, body);
        // Sleeps: the sockets on both sides are to be full.
        await Task.Delay(500, TestContext.Current.CancellationToken);
        Assert.False(sending.IsCompleted);
        (await _client.GetAsync(3, "/f100000.bin")).AssertIsWhole(file);
        (await _client.ReadResponseAsync(1)).AssertIsWhole(body);
        await sending;
    }

    [Fact]
    public async Task Streams_with_an_upstream_each_get_their_own_bytes()
    {
        byte[][] bodies = [.. Enumerable.Range(0, 8).Select(static i => RandomBytes(400_000 + i))];
        await OpenAsync();
        var upstreams = new List<UpstreamWire>();
        for (int i = 0; i < bodies.Length; i++)
        {
            upstreams.Add(await BeginAsync(1 + (2 * i)));
        }

        Task[] all = [.. upstreams.Zip(bodies, static (upstream, body) => SendAsync(upstream, body))];
        for (int i = 0; i < bodies.Length; i++)
        {
            (await _client.ReadResponseAsync(1 + (2 * i))).AssertIsWhole(bodies[i]);
        }

        await Task.WhenAll(all);
    }

    [Fact]
    public async Task A_response_that_its_upstream_cuts_resets_its_stream_only()
    {
        UpstreamWire upstream = await BeginAsync(1);
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        await upstream.SendAsync(RandomBytes(900_000));
        upstream.FinishSending();
        await _client.AssertResetsAsync(1, Http2Error.InternalError);
    }

    [Fact]
    public async Task A_stream_that_its_client_cancels_ends_the_upstreams_connection_and_no_other_stream()
    {
        UpstreamWire upstream = await BeginAsync(1);
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
        await upstream.SendAsync(RandomBytes(300_000));
        await _client.SendAsync(Frame.Reset(1, Http2Error.Cancel));
        await upstream.AssertEndsAsync();
        await _client.SettleAsync();
        Assert.Equal(404, (await _client.GetAsync(3, "/none")).Status);
    }

    [Fact]
    public async Task Where_memory_ends_for_what_a_client_does_not_take_others_are_served()
    {
        byte[] file = Folder.AddSized(1000);
        await StartProxyAsync(engine: new EngineOptions { Reactors = 1, Limits = new Limits { BufferBytes = 200_000 } });
        Wire other = await Site.ConnectAsync();
        (await other.GetAsync("/f1000.bin")).AssertIsWhole(file);
        UpstreamWire upstream = await BeginAsync(1);
        Task sending = SendAsync(upstream, RandomBytes(30_000_000));
        // Sleeps: the sockets on both sides are to be full.
        await Task.Delay(500, TestContext.Current.CancellationToken);
        (await other.GetAsync("/f1000.bin")).AssertIsWhole(file);
        _client.Wire.Reset();
        await Assert.ThrowsAnyAsync<Exception>(() => sending);
        _ = Site.TakeWarnings();
    }

    private async Task OpenAsync(int receiveBufferBytes = 0)
    {
        if (Site is null)
        {
            await StartProxyAsync();
        }

        _client = await Http2Wire.OpenAsync(Site!, receiveBufferBytes: receiveBufferBytes, settings: (SettingId.InitialWindowSize, LargeWindow));
        await _client.SendAsync(Frame.WindowUpdate(0, LargeWindow));
    }

    private async Task<UpstreamWire> BeginAsync(int streamId)
    {
        if (_client is null)
        {
            await OpenAsync();
        }

        await _client!.SendAsync(Frame.Headers(streamId, Block.Get("/api/a")));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        return upstream;
    }
}
