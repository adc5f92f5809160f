using System.Net.Sockets;
using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Requests of HTTP/2 that go to an upstream, and their responses.</summary>
public class Http2ProxyTests : ProxyTest
{
    private const FrameFlags More = FrameFlags.EndHeaders;

    private Http2Wire _client = null!;

    [Fact]
    public async Task Requests_pass_in_the_form_of_http_1_1()
    {
        UpstreamWire upstream = await BeginAsync(Block.Get("/api/a?b", "cookie: a=1", "x-a: b", "te: trailers", "cookie: b=2"));
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nConnection: X-B\r\nX-B: 1\r\nX-C: 2\r\nContent-Length: 2\r\n\r\nok");
        Response response = await _client.ReadResponseAsync(1);
        Assert.Equal((200, "ok"), (response.Status, response.Text));
        Assert.Equal(("2", null, "2"), (response.Field("x-c"), response.Field("x-b"), response.Field("content-length")));
        Assert.NotNull(response.Field("date"));
        await _client.SendAsync(Frame.Headers(3, Block.Get("/api/b")));
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(3)).Text);
    }

    [Fact]
    public async Task The_head_for_the_upstream_is_whole()
    {
        await OpenAsync();
        await _client.SendAsync(Frame.Headers(1, Block.Get("/api/a?b", "cookie: a=1", "x-a: b", "te: trailers", "cookie: b=2")));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Equal(
            "GET /api/a?b HTTP/1.1\r\nHost: a\r\nx-a: b\r\ncookie: a=1; b=2\r\nTE: trailers\r\nConnection: TE\r\n"
            + "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n\r\n",
            await upstream.ReadHeadAsync());
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(1)).Text);
    }

    [Theory]
    [InlineData("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 200)]
    [InlineData("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204)]
    [InlineData("GET", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", 304)]
    [InlineData("BREW", "HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\n\r\n", 418)]
    public async Task Responses_without_a_body_end_with_their_head(string method, string answer, int status)
    {
        UpstreamWire upstream = await BeginAsync(Block.Request(method, "/api/"));
        await upstream.SendAsync(answer);
        Frame head = await _client.ReadUntilAsync(FrameType.Headers);
        Assert.True(head.IsLast);
        await _client.TakeAsync(head);
        Assert.Equal(status, (await _client.ReadResponseAsync(1)).Status);
    }

    [Fact]
    public async Task Each_piece_passes_at_once_and_trailers_follow()
    {
        UpstreamWire upstream = await BeginAsync(Block.Get("/api/"));
        await upstream.SendAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        await _client.TakeAsync(await _client.ReadUntilAsync(FrameType.Headers));
        Assert.Equal([(":status", "103"), ("link", "</a>")], _client.Of(1).Fields);
        _client.Of(1).Fields.Clear();
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        await _client.TakeAsync(await _client.ReadUntilAsync(FrameType.Headers));
        Assert.Equal((":status", "200"), _client.Of(1).Fields[0]);
        Assert.Equal("abc", Encoding.Latin1.GetString((await _client.ReadUntilAsync(FrameType.Data)).Payload));
        await upstream.SendAsync("1\r\nd\r\n");
        Assert.Equal("d", Encoding.Latin1.GetString((await _client.ReadUntilAsync(FrameType.Data)).Payload));
        await upstream.SendAsync("0\r\nX-Sum: 4\r\nContent-Length: 9\r\nConnection: a\r\n\r\n");
        Frame end = await _client.ReadUntilAsync(FrameType.Headers);
        Assert.True(end.IsLast);
        _client.Of(1).Fields.Clear();
        await _client.TakeAsync(end);
        Assert.Equal([("x-sum", "4")], _client.Of(1).Fields);
    }

    [Fact]
    public async Task Bodies_pass_with_and_without_a_length()
    {
        await OpenAsync();
        await _client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/api/", "content-length: 5"), More), Frame.Data(1, "he"u8, FrameFlags.None));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Contains("\r\nContent-Length: 5\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.Equal("he", await upstream.ReadAsync(2));
        await _client.SendAsync(Frame.Data(1, "llo"u8));
        Assert.Equal("llo", await upstream.ReadAsync(3));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(1)).Text);

        await _client.SendAsync(
            Frame.Headers(3, Block.Request("POST", "/api/"), More),
            Frame.Data(3, "ab"u8, FrameFlags.None),
            Frame.Headers(3, Block.Of(("x-sum", "1"), ("content-length", "7"), ("x-forwarded-for", "1"))));
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        const string Body = "2\r\nab\r\n0\r\nx-sum: 1\r\n\r\n";
        Assert.Equal(Body, await upstream.ReadAsync(Body.Length));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(3)).Text);
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    [InlineData("OPTIONS")]
    [InlineData("DELETE")]
    public async Task A_request_whose_end_follows_its_head_has_no_body(string method)
    {
        await OpenAsync();
        await _client.SendAsync(
            Frame.Headers(1, Block.Request(method, "/api/"), More), Frame.Data(1, default, FrameFlags.None), Frame.Headers(3, Block.Get("/none")));
        Assert.Equal(404, (await _client.ReadResponseAsync(3)).Status);
        Assert.False(Upstream.HasPending);
        await _client.SendAsync(Frame.Data(1, default));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.DoesNotContain("Transfer-Encoding", await upstream.ReadHeadAsync(), StringComparison.OrdinalIgnoreCase);
        await upstream.SendAsync("HTTP/1.1 204 No Content\r\n\r\n");
        Assert.Equal(204, (await _client.ReadResponseAsync(1)).Status);

        // The connection serves another: nothing is due on it.
        await _client.SendAsync(Frame.Headers(5, Block.Get("/api/next")));
        Assert.StartsWith("GET /api/next ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(5)).Text);
    }

    [Theory]
    [InlineData("DELETE")]
    [InlineData("POST")]
    public async Task A_length_of_0_passes_at_once_and_as_it_is(string method)
    {
        await OpenAsync();
        await _client.SendAsync(Frame.Headers(1, Block.Request(method, "/api/", "content-length: 0"), More));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await AssertHeadWithLengthOf0Async(upstream, method);
        await _client.SendAsync(Frame.Data(1, default));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(1)).Text);

        await _client.SendAsync(
            Frame.Headers(3, Block.Request(method, "/api/", "content-length: 0"), More), Frame.Headers(3, Block.Of(("x-sum", "1"))));
        await AssertHeadWithLengthOf0Async(upstream, method);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(3)).Text);

        // The connection serves another: nothing was sent behind the heads.
        await _client.SendAsync(Frame.Headers(5, Block.Get("/api/next")));
        Assert.StartsWith("GET /api/next ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(5)).Text);
    }

    [Fact]
    public async Task A_GET_with_a_body_or_trailers_passes_with_them()
    {
        await OpenAsync();
        await _client.SendAsync(Frame.Headers(1, Block.Get("/api/"), More), Frame.Headers(3, Block.Get("/none")));
        Assert.Equal(404, (await _client.ReadResponseAsync(3)).Status);
        Assert.False(Upstream.HasPending);
        await _client.SendAsync(Frame.Data(1, "abc"u8));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.Equal("3\r\nabc\r\n0\r\n\r\n", await upstream.ReadAsync(13));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(1)).Text);

        await _client.SendAsync(Frame.Headers(5, Block.Get("/api/"), More), Frame.Headers(5, Block.Of(("x-sum", "1"))));
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.Equal("0\r\nx-sum: 1\r\n\r\n", await upstream.ReadAsync(15));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(5)).Text);
    }

    [Fact]
    public async Task A_GET_whose_client_leaves_its_side_open_passes_in_time()
    {
        await OpenAsync();
        await _client.SendAsync(Frame.Headers(1, Block.Get("/api/"), More));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadAsync(1)).Text);
    }

    /// <summary>Also where one that was held before has ended meanwhile.</summary>
    [Fact]
    public async Task Each_GET_whose_client_leaves_its_side_open_passes_in_its_time()
    {
        await OpenAsync(new HttpServerLimits { UndecidedBody = TimeSpan.FromMilliseconds(100) });
        await _client.SendAsync(Frame.Headers(1, Block.Get("/api/1"), More));
        await _client.SendAsync(Frame.Headers(3, Block.Get("/api/3"), More), Frame.Reset(1));

        // Sleeps: the next is held while the time of the first ends.
        await Task.Delay(60, TestContext.Current.CancellationToken);
        await _client.SendAsync(Frame.Headers(5, Block.Get("/api/5"), More));
        foreach (int id in (int[])[3, 5])
        {
            UpstreamWire upstream = await Upstream.AcceptAsync();
            string head = await upstream.ReadHeadAsync();
            Assert.StartsWith($"GET /api/{id} ", head, StringComparison.Ordinal);
            Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", head, StringComparison.Ordinal);
            await upstream.SendAsync(Ok);
            Assert.Equal("ok", (await _client.ReadAsync(id)).Text);
        }
    }

    [Fact]
    public async Task Continue_is_asked_of_the_upstream()
    {
        UpstreamWire upstream = await BeginAsync(Block.Request("PUT", "/api/", "expect: 100-continue", "content-length: 3"), More);
        await upstream.SendAsync("HTTP/1.1 100 Continue\r\n\r\n");
        await _client.TakeAsync(await _client.ReadUntilAsync(FrameType.Headers));
        Assert.Equal([(":status", "100")], _client.Of(1).Fields);
        _client.Of(1).Fields.Clear();
        await _client.SendAsync(Frame.Data(1, "abc"u8));
        Assert.Equal("abc", await upstream.ReadAsync(3));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(1)).Text);
    }

    [Fact]
    public async Task An_answer_within_an_upload_ends_the_stream_without_an_error()
    {
        UpstreamWire upstream = await BeginAsync(Block.Request("PUT", "/api/", "content-length: 99999"), More);
        await upstream.SendAsync("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
        Exchange exchange = await _client.ReadAsync(1);
        Assert.Equal("no", exchange.Text);
        Frame reset = await _client.ReadUntilAsync(FrameType.RstStream);
        Assert.Equal((1, Http2Error.NoError), (reset.StreamId, reset.Error));
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_slow_upstream_keeps_only_its_streams_window_closed()
    {
        await OpenAsync();
        await _client.SendAsync(Frame.Headers(1, Block.Request("PUT", "/api/"), More));
        UpstreamWire slow = await Upstream.AcceptAsync();
        await slow.ReadHeadAsync();

        // What fits the sockets, and then the window.
        int sent = 0;
        int window = 65_535;
        using var stalled = new CancellationTokenSource();
        Task<Frame>? reading = null;
        byte[] data = new byte[16_384];
        while (true)
        {
            while (window >= data.Length)
            {
                await _client.SendAsync(Frame.Data(1, data, FrameFlags.None));
                window -= data.Length;
                sent += data.Length;
            }

            reading ??= _client.ReadUntilAsync(FrameType.WindowUpdate);
            if (await Task.WhenAny(reading, Task.Delay(1000, TestContext.Current.CancellationToken)) != reading)
            {
                break;
            }

            Frame update = await reading;
            window += update.StreamId == 1 ? update.Number : 0;
            reading = null;
        }

        Assert.True(await Site.LentBytesAsync() < 1024 * 1024);
        await _client.SendAsync(Frame.Headers(3, Block.Request("PUT", "/api/"), More), Frame.Data(3, "abc"u8));
        UpstreamWire other = await Upstream.AcceptAsync();
        await other.ReadHeadAsync();
        Assert.Equal("3\r\nabc\r\n0\r\n\r\n", await other.ReadAsync(13));
        await other.SendAsync(Ok);

        // The window opens again as the upstream reads.
        byte[] buffer = new byte[1024 * 1024];
        while (!reading.IsCompleted)
        {
            Task<int> receiving = slow.Socket.ReceiveAsync(buffer, SocketFlags.None, TestContext.Current.CancellationToken).AsTask();
            await Task.WhenAny(reading, receiving);
        }

        await reading;
        await slow.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadAsync(3)).Text);
        Assert.Equal("ok", (await _client.ReadAsync(1)).Text);
        Assert.True(sent > 65_535);
    }

    [Fact]
    public async Task A_large_upload_passes_whole()
    {
        const int Bytes = 8 * 1024 * 1024;
        UpstreamWire upstream = await BeginAsync(Block.Request("PUT", "/api/", $"content-length: {Bytes}"), More);
        byte[] bytes = SiteFolder.Bytes(Bytes);
        Task<byte[]> receiving = Task.Run(async () =>
        {
            byte[] all = new byte[Bytes];
            for (int read = 0; read < Bytes;)
            {
                read += await upstream.Socket.ReceiveAsync(all.AsMemory(read), SocketFlags.None);
            }

            return all;
        });
        int sent = 0;
        (int stream, int connection) windows = (65_535, 65_535);
        while (sent < Bytes)
        {
            int count = Math.Min(Math.Min(16_384, Bytes - sent), Math.Min(windows.stream, windows.connection));
            if (count > 0)
            {
                sent += count;
                FrameFlags flags = sent == Bytes ? FrameFlags.EndStream : FrameFlags.None;
                await _client.SendAsync(Frame.Data(1, bytes.AsSpan(sent - count, count), flags));
                windows = (windows.stream - count, windows.connection - count);
                continue;
            }

            Frame update = await _client.ReadUntilAsync(FrameType.WindowUpdate);
            windows = update.StreamId == 0
                ? (windows.stream, windows.connection + update.Number)
                : (windows.stream + update.Number, windows.connection);
        }

        byte[] received = await receiving;
        Assert.True(bytes.AsSpan().SequenceEqual(received));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await _client.ReadResponseAsync(1)).Text);
    }

    [Fact]
    public async Task A_large_response_waits_for_windows_in_bounded_memory()
    {
        const int Bytes = 32 * 1024 * 1024;
        UpstreamWire upstream = await BeginAsync(Block.Get("/api/"));
        byte[] bytes = SiteFolder.Bytes(Bytes);
        Task sending = Task.Run(async () =>
        {
            await upstream.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (int sent = 0; sent < Bytes; sent += 65_536)
            {
                await upstream.SendAsync("10000\r\n");
                await upstream.SendAsync(bytes.AsMemory(sent, 65_536));
                await upstream.SendAsync("\r\n");
            }

            await upstream.SendAsync("0\r\n\r\n");
        });
        Exchange exchange = _client.Of(1);
        long most = 0;
        while (!exchange.IsWhole)
        {
            await _client.TakeAsync(await _client.ReadFrameAsync());
            if (exchange.DataBytes.Count % 100 == 99)
            {
                most = Math.Max(most, await Site.LentBytesAsync());
            }
        }

        await sending;
        Assert.True(bytes.AsSpan().SequenceEqual(exchange.Body.ToArray()));
        Assert.True(most < 2 * 1024 * 1024, $"{most} bytes were held");
    }

    [Fact]
    public async Task A_response_that_ends_early_is_reset()
    {
        UpstreamWire upstream = await BeginAsync(Block.Get("/api/"));
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        await _client.TakeAsync(await _client.ReadUntilAsync(FrameType.Data));
        upstream.Dispose();
        Assert.Equal(Http2Error.InternalError, (await _client.ReadAsync(1)).Reset);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_reset_of_the_client_ends_the_exchange(bool hasHead)
    {
        UpstreamWire upstream = await BeginAsync(Block.Get("/api/"));
        if (hasHead)
        {
            await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
            await _client.TakeAsync(await _client.ReadUntilAsync(FrameType.Data));
        }

        await _client.SendAsync(Frame.Reset(1));
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_client_that_goes_away_ends_its_exchanges()
    {
        UpstreamWire upstream = await BeginAsync(Block.Get("/api/"));
        _client.Wire.Dispose();
        await upstream.AssertEndsAsync();
        await Site.EmptiedAsync();
    }

    [Fact]
    public async Task A_body_that_stalls_is_answered_with_408()
    {
        await OpenAsync(new HttpServerLimits { ReceiveStall = TimeSpan.FromMilliseconds(400) });
        byte[] block = Block.Request("PUT", "/api/", "content-length: 9");
        await _client.SendAsync(Frame.Headers(1, block, More), Frame.Data(1, "ab"u8, FrameFlags.None));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        Assert.Equal("ab", await upstream.ReadAsync(2));
        Exchange exchange = await _client.ReadAsync(1);
        Assert.Equal((":status", "408"), exchange.Fields[0]);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_wrong_length_of_the_client_is_its_error()
    {
        UpstreamWire upstream = await BeginAsync(Block.Request("PUT", "/api/", "content-length: 3"), More);
        await _client.SendAsync(Frame.Data(1, "abcd"u8));
        Assert.Equal(Http2Error.ProtocolError, (await _client.ReadAsync(1)).Reset);
        await upstream.AssertEndsAsync();
    }

    // Sleeps: within this time all that the upstreams send would have come.
    [Fact]
    public async Task Informational_responses_wait_for_a_client_that_does_not_read()
    {
        const int Streams = 24;
        const int Heads = 32;
        string hints = $"HTTP/1.1 103 Early Hints\r\nLink: <{new string('a', 10_000)}>\r\n\r\n";
        var limits = new Limits { InputHighWaterBytes = 16 * 1024 };
        await StartProxyAsync(engine: new EngineOptions { Reactors = 1, Limits = limits });
        _client = await Http2Wire.OpenAsync(Site, receiveBufferBytes: 64 * 1024);
        int[] ids = [.. Enumerable.Range(0, Streams).Select(static i => (2 * i) + 1)];
        var upstreams = new List<UpstreamWire>();
        foreach (int id in ids)
        {
            await _client.SendAsync(Frame.Headers(id, Block.Get("/api/")));
            upstreams.Add(await Upstream.AcceptAsync());
            await upstreams[^1].ReadHeadAsync();
        }

        string answer = string.Concat(Enumerable.Repeat(hints, Heads)) + Ok;
        Task[] sending = [.. upstreams.Select(upstream => upstream.SendAsync(answer))];
        long most = 0;
        for (int i = 0; i < 30; i++)
        {
            most = Math.Max(most, await Site.LentBytesAsync());
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }

        Assert.InRange(most, 0, 3 * 1024 * 1024);
        foreach (int id in ids)
        {
            Exchange exchange = await _client.ReadAsync(id);
            Assert.Equal(Heads, exchange.Fields.Count(static field => field == (":status", "103")));
            Assert.Contains((":status", "200"), exchange.Fields);
            Assert.Equal("ok", exchange.Text);
        }

        await Task.WhenAll(sending);
    }

    private async Task OpenAsync(HttpServerLimits? limits = null)
    {
        await StartProxyAsync(limits);
        _client = await Http2Wire.OpenAsync(Site);
    }

    private async Task<UpstreamWire> BeginAsync(byte[] block, FrameFlags flags = FrameFlags.EndHeaders | FrameFlags.EndStream)
    {
        await OpenAsync();
        await _client.SendAsync(Frame.Headers(1, block, flags));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        return upstream;
    }
}
