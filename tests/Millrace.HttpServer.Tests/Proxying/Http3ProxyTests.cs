using System.Text;
using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Requests of HTTP/3 that go to an upstream, and their responses.</summary>
public class Http3ProxyTests : ProxyTest
{
    private Http3TestConnection _client = null!;

    public Http3ProxyTests() => CarriesHttps = static _ => true;

    [Fact]
    public async Task Requests_pass_in_the_form_of_http_1_1()
    {
        await OpenAsync();
        Http3TestStream stream = await _client.SendAsync(
            Http3Bytes.Request("GET", "/api/a?b", "cookie: a=1", "x-a: b", "te: trailers", "cookie: b=2"));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        string head = await upstream.ReadHeadAsync();
        Assert.StartsWith("GET /api/a?b HTTP/1.1\r\nHost: ", head, StringComparison.Ordinal);
        Assert.Contains("\r\nx-a: b\r\ncookie: a=1; b=2\r\nTE: trailers\r\nConnection: TE\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n", head, StringComparison.Ordinal);
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nConnection: X-B\r\nX-B: 1\r\nX-C: 2\r\nContent-Length: 2\r\n\r\nok");
        Http3TestResponse response = await stream.ReadResponseAsync();
        Assert.Equal(("200", "ok"), (response.Status, Encoding.Latin1.GetString(response.Content)));
        Assert.Equal(("2", null, "2"), (response["x-c"], response["x-b"], response["content-length"]));
        Assert.NotNull(response["date"]);

        Task<Http3TestResponse> next = _client.GetAsync("/api/b");
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", Encoding.Latin1.GetString((await next).Content));
    }

    [Theory]
    [InlineData("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "200")]
    [InlineData("GET", "HTTP/1.1 204 No Content\r\n\r\n", "204")]
    [InlineData("GET", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n", "304")]
    [InlineData("BREW", "HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\n\r\n", "418")]
    public async Task Responses_without_a_body_end_with_their_head(string method, string answer, string status)
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request(method, "/api/"));
        await upstream.SendAsync(answer);
        Http3TestResponse response = await stream.ReadResponseAsync();
        Assert.Equal((status, 0), (response.Status, response.Content.Length));
    }

    [Fact]
    public async Task Each_piece_passes_at_once_and_trailers_follow()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request("GET", "/api/"));
        await upstream.SendAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        Assert.Equal([(":status", "103"), ("link", "</a>")], await stream.ReadHeadAsync());
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        Assert.Equal((":status", "200"), (await stream.ReadHeadAsync())![0]);
        Assert.Equal("abc", Encoding.Latin1.GetString((await stream.ReadDataAsync())!));
        await upstream.SendAsync("1\r\nd\r\n");
        Assert.Equal("d", Encoding.Latin1.GetString((await stream.ReadDataAsync())!));
        await upstream.SendAsync("0\r\nX-Sum: 4\r\nContent-Length: 9\r\nConnection: a\r\n\r\n");
        Assert.Null(await stream.ReadDataAsync());
        Assert.Equal([("x-sum", "4")], stream.Trailers);
        await stream.Closed;
    }

    [Fact]
    public async Task Bodies_pass_with_and_without_a_length()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(
            [.. Http3Bytes.Request("POST", "/api/", "content-length: 5"), .. Http3Bytes.Data("he"u8)], isEnd: false);
        Assert.Equal("he", await upstream.ReadAsync(2));
        await stream.WriteAsync(Http3Bytes.Data("llo"u8), isEnd: true);
        Assert.Equal("llo", await upstream.ReadAsync(3));
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);

        stream = await _client.SendAsync((byte[])[
            .. Http3Bytes.Request("POST", "/api/"),
            .. Http3Bytes.Data("ab"u8),
            .. Http3Bytes.Headers([("x-sum", "1"), ("content-length", "7"), ("x-forwarded-for", "1")])]);
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        const string Body = "2\r\nab\r\n0\r\nx-sum: 1\r\n\r\n";
        Assert.Equal(Body, await upstream.ReadAsync(Body.Length));
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task Continue_is_asked_of_the_upstream()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(
            Http3Bytes.Request("PUT", "/api/", "expect: 100-continue", "content-length: 3"), isEnd: false);
        await upstream.SendAsync("HTTP/1.1 100 Continue\r\n\r\n");
        Assert.Equal([(":status", "100")], await stream.ReadHeadAsync());
        await stream.WriteAsync(Http3Bytes.Data("abc"u8), isEnd: true);
        Assert.Equal("abc", await upstream.ReadAsync(3));
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task An_answer_within_an_upload_asks_for_no_more_of_it()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(
            Http3Bytes.Request("PUT", "/api/", "content-length: 99999"), isEnd: false);
        await upstream.SendAsync("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
        Assert.Equal("413", (await stream.ReadResponseAsync()).Status);
        await stream.Stopped;
        Assert.Equal(Http3Codes.NoError, stream.StopCode);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_large_upload_passes_whole_as_the_upstream_takes_it()
    {
        byte[] body = RandomBytes(3_000_000);
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(
            Http3Bytes.Request("PUT", "/api/", $"content-length: {body.Length}"), isEnd: false);
        Task sending = stream.WriteAsync((byte[])[.. Http3Bytes.Data(body.AsSpan(0, 2_000_000)), .. Http3Bytes.Data(body.AsSpan(2_000_000))], true);
        Assert.Equal(Encoding.Latin1.GetString(body, 0, 10), await upstream.ReadAsync(10));

        // While the upstream reads nothing, other streams go on.
        Assert.Equal("404", (await _client.GetAsync("/none")).Status);
        Assert.Equal(Encoding.Latin1.GetString(body, 10, body.Length - 10), await upstream.ReadAsync(body.Length - 10));
        await sending;
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
    }

    /// <summary>Their bytes fill the window that the connection begins with.</summary>
    [Fact]
    public async Task Uploads_that_their_upstream_does_not_take_hold_up_no_other_request()
    {
        const int Stalled = 8;
        byte[] body = RandomBytes(100_000);
        RunningSite site = await StartProxyAsync(
            engine: new EngineOptions { Reactors = 1 }, upstreams: new UpstreamOptions { ConnectionsMax = 1, QueueTimeout = TimeSpan.FromMinutes(1) });
        _client = await (await site.ListenHttp3Async()).ConnectAsync();
        Http3TestStream first = await _client.SendAsync(Http3Bytes.Request("POST", "/api/first"), isEnd: false);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();

        // The only connection has a request, so that these wait for it.
        List<(Http3TestStream Stream, Task Sending)> stalled = [];
        for (int i = 0; i < Stalled; i++)
        {
            Http3TestStream stream = await _client.SendAsync(Http3Bytes.Request("POST", "/api/"), isEnd: false);
            stalled.Add((stream, stream.WriteAsync(Http3Bytes.Data(body), isEnd: true)));
        }

        for (int i = 0; i < 500 && await BlockedAsync() < Stalled; i++)
        {
            // Sleeps: windows are filled by the client's own thread.
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }

        Assert.Equal(Stalled, await BlockedAsync());
        await first.WriteAsync(Http3Bytes.Data("abc"u8), isEnd: true);
        Assert.Equal("3\r\nabc\r\n0\r\n\r\n", await upstream.ReadAsync(13));
        Assert.Equal("405", (await _client.AskAsync("POST", "/none", [], body.AsMemory(0, 30_000))).Status);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await first.ReadResponseAsync()).Status);
        foreach ((Http3TestStream stream, Task sending) in stalled)
        {
            await upstream.ReadHeadAsync();
            Assert.EndsWith("\r\n0\r\n\r\n", await ReadBodyAsync(upstream), StringComparison.Ordinal);
            await upstream.SendAsync(Ok);
        }

        foreach ((Http3TestStream stream, Task sending) in stalled)
        {
            await sending;
            Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
        }

        Task<int> BlockedAsync() =>
            _client.InspectAsync(static quic => quic.Streams.All.Count(static stream => stream.Send.IsBlocked));

        static async Task<string> ReadBodyAsync(UpstreamWire upstream)
        {
            const string End = "\r\n0\r\n\r\n";
            var body = new StringBuilder(await upstream.ReadAsync(End.Length));
            while (body.ToString(body.Length - End.Length, End.Length) != End)
            {
                body.Append(await upstream.ReadAsync(1));
            }

            return body.ToString();
        }
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("HEAD")]
    [InlineData("OPTIONS")]
    [InlineData("DELETE")]
    public async Task A_request_whose_end_follows_its_head_has_no_body(string method)
    {
        await OpenAsync();
        Http3TestStream stream = await _client.SendAsync(Http3Bytes.Request(method, "/api/"), isEnd: false);
        Assert.Equal("404", (await _client.GetAsync("/none")).Status);
        Assert.False(Upstream.HasPending);
        await stream.FinishAsync();
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.DoesNotContain("Transfer-Encoding", await upstream.ReadHeadAsync(), StringComparison.OrdinalIgnoreCase);
        await upstream.SendAsync("HTTP/1.1 204 No Content\r\n\r\n");
        Assert.Equal("204", (await stream.ReadResponseAsync()).Status);

        // The connection serves another: nothing is due on it.
        Task<Http3TestResponse> next = _client.GetAsync("/api/next");
        Assert.StartsWith("GET /api/next ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await next).Status);
    }

    [Theory]
    [InlineData("DELETE")]
    [InlineData("POST")]
    public async Task A_length_of_0_passes_at_once_and_as_it_is(string method)
    {
        await OpenAsync();
        byte[] request = Http3Bytes.Request(method, "/api/", "content-length: 0");
        Http3TestStream stream = await _client.SendAsync(request, isEnd: false);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await AssertHeadWithLengthOf0Async(upstream, method);
        await stream.FinishAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);

        stream = await _client.SendAsync((byte[])[.. request, .. Http3Bytes.Headers(("x-sum", "1"))]);
        await AssertHeadWithLengthOf0Async(upstream, method);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);

        // The connection serves another: nothing was sent behind the heads.
        Task<Http3TestResponse> next = _client.GetAsync("/api/next");
        Assert.StartsWith("GET /api/next ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await next).Status);
    }

    [Fact]
    public async Task A_GET_with_a_body_passes_with_it()
    {
        await OpenAsync();
        Http3TestStream stream = await _client.SendAsync(Http3Bytes.Request("GET", "/api/"), isEnd: false);
        Assert.Equal("404", (await _client.GetAsync("/none")).Status);
        Assert.False(Upstream.HasPending);
        await stream.WriteAsync(Http3Bytes.Data("abc"u8));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.Equal("3\r\nabc\r\n", await upstream.ReadAsync(8));
        await stream.WriteAsync(Http3Bytes.Headers(("x-sum", "1")), isEnd: true);
        Assert.Equal("0\r\nx-sum: 1\r\n\r\n", await upstream.ReadAsync(15));
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task A_GET_whose_client_gives_it_up_before_its_end_reaches_no_upstream()
    {
        await OpenAsync(new HttpServerLimits { UndecidedBody = TimeSpan.FromMinutes(1) });
        Http3TestStream stream = await _client.SendAsync(Http3Bytes.Request("GET", "/api/"), isEnd: false);
        Assert.Equal("404", (await _client.GetAsync("/none")).Status);
        stream.Abort();
        stream.StopSending();
        Task<Http3TestResponse> next = _client.GetAsync("/api/next");
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.StartsWith("GET /api/next ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await next).Status);
    }

    [Fact]
    public async Task A_GET_whose_client_leaves_its_side_open_passes_in_time()
    {
        await OpenAsync(new HttpServerLimits { UndecidedBody = TimeSpan.FromMilliseconds(20) });
        Http3TestStream stream = await _client.SendAsync(Http3Bytes.Request("GET", "/api/"), isEnd: false);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Contains("\r\nTransfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_large_response_waits_for_windows_and_is_whole()
    {
        byte[] body = RandomBytes(3_000_000);
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request("GET", "/api/"));
        Task sending = SendAsync(upstream, body);
        await stream.ReadHeadAsync();
        Assert.Equal("404", (await _client.GetAsync("/none")).Status);
        using var content = new MemoryStream();
        while (await stream.ReadDataAsync() is { } piece)
        {
            content.Write(piece);
        }

        Assert.Equal(body, content.ToArray());
        await sending;
    }

    [Fact]
    public async Task A_response_that_ends_early_is_reset()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request("GET", "/api/"));
        await SendAsync(upstream, "abc"u8.ToArray(), length: 5);
        await stream.ReadHeadAsync();
        upstream.Dispose();
        Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.InternalError, reset.StreamCode);
    }

    [Fact]
    public async Task An_upstream_that_does_not_answer_is_a_502()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request("POST", "/api/"), isEnd: false);
        upstream.Dispose();
        Assert.Equal("502", (await stream.ReadResponseAsync()).Status);
        Assert.Equal("404", (await _client.GetAsync("/none")).Status);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_client_that_gives_up_ends_the_exchange(bool hasHead)
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request("GET", "/api/"), isEnd: false);
        if (hasHead)
        {
            await SendAsync(upstream, "abc"u8.ToArray(), length: 5);
            await stream.ReadHeadAsync();
        }

        stream.Abort();
        stream.StopSending();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_client_that_goes_away_ends_its_exchanges()
    {
        (_, UpstreamWire upstream) = await BeginAsync(Http3Bytes.Request("GET", "/api/"));
        _client.Close();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_body_that_stalls_is_answered_with_408()
    {
        await OpenAsync(new HttpServerLimits { ReceiveStall = TimeSpan.FromMilliseconds(200) });
        Http3TestStream stream = await _client.SendAsync(
            (byte[])[.. Http3Bytes.Request("POST", "/api/", "content-length: 10"), .. Http3Bytes.Data("a"u8)], isEnd: false);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        Assert.Equal("408", (await stream.ReadResponseAsync()).Status);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9114-4.1.2")]
    public async Task A_wrong_length_of_the_client_is_its_error()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginAsync(
            Http3Bytes.Request("POST", "/api/", "content-length: 10"), isEnd: false);
        await stream.WriteAsync(Http3Bytes.Data("a"u8), isEnd: true);
        Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.MessageError, reset.StreamCode);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9220-3")]
    public async Task A_web_socket_carries_bytes_both_ways_until_each_end()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        Assert.Equal("200", (await stream.ReadHeadAsync())!.First(static field => field.Name == ":status").Value);
        await stream.WriteAsync(Http3Bytes.Data("to the upstream"u8));
        Assert.Equal("to the upstream", await upstream.ReadAsync(15));
        await upstream.SendAsync("to the client");
        Assert.Equal("to the client", Encoding.Latin1.GetString((await stream.ReadDataAsync())!));
        upstream.FinishSending();
        Assert.Null(await stream.ReadDataAsync());
        await stream.FinishAsync();
        await upstream.AssertEndsAsync();
    }

    /// <summary>As an application that closes its socket behind its last frame, and does not read the answer to that.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_tail_reaches_a_client_that_reads_late_although_the_upstream_takes_nothing_more(bool isReset)
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        await stream.ReadHeadAsync();
        await TunnelTests.EndAsync(upstream, isReset);
        for (int i = 0; i < 20; i++)
        {
            await stream.WriteAsync(Http3Bytes.Data("late"u8));

            // Sleeps: the kernel's reset of the connection to the upstream is seen by nobody here.
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        Assert.Equal(TunnelTests.TailBytes, await CountToEndAsync(stream));
    }

    [Fact]
    public async Task The_tail_reaches_a_client_that_ended_its_direction_through_TLS_and_reads_late()
    {
        RunningSite site = await StartFilteredProxyAsync(new UpstreamOptions { TunnelEndDelay = TimeSpan.FromMilliseconds(20) });
        _client = await (await site.ListenHttp3Async()).ConnectAsync();
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        await stream.ReadHeadAsync();
        await upstream.SendAsync(new byte[TunnelTests.TailBytes]);
        await stream.WriteAsync(Http3Bytes.Data("bye"u8), isEnd: true);
        Assert.Equal("bye", await upstream.ReadAsync(3));

        // Sleeps: until the tunnel's end, which a client that does not read cannot see.
        await Task.Delay(200, TestContext.Current.CancellationToken);
        Assert.Equal(TunnelTests.TailBytes, await CountToEndAsync(stream));
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9220-3")]
    public async Task A_web_socket_that_its_client_resets_is_cut()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        await stream.ReadHeadAsync();
        stream.Abort();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9114-4.4")]
    public async Task A_web_socket_whose_client_refuses_what_comes_is_cut()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        await stream.ReadHeadAsync();
        stream.StopSending();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9114-4.4")]
    public async Task A_web_socket_ends_with_its_connection()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        await stream.ReadHeadAsync();
        _client.Close();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9114-4.4")]
    public async Task A_web_socket_has_no_trailers()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync();
        await stream.ReadHeadAsync();
        await stream.WriteAsync(Http3Bytes.Headers(("a", "b")));
        CloseReason reason = await _client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.FrameUnexpected), (reason.Source, reason.IsApplication, reason.Code));
        await upstream.AssertEndsAsync();
    }

    [Fact]
    [Trait("Rfc", "9114-4.1.2")]
    public async Task A_malformed_request_reaches_no_upstream()
    {
        await OpenAsync();
        foreach (string field in (string[])["A: b", "connection: close", ":status: 200", "a: b\nc"])
        {
            Http3TestStream malformed = await _client.SendAsync(Http3Bytes.Request("GET", "/api/malformed", field));
            Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(malformed.ReadToEndAsync);
            Assert.Equal(Http3Codes.MessageError, reset.StreamCode);
        }

        Task<Http3TestResponse> good = _client.GetAsync("/api/good");
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.StartsWith("GET /api/good ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("200", (await good).Status);
    }

    /// <summary>The upstream would take what follows, the request of another client, for the body.</summary>
    [Fact]
    [Trait("Rfc", "9220-3")]
    public async Task A_length_that_extended_connect_claims_does_not_reach_the_upstream()
    {
        await OpenAsync();
        Http3TestStream stream = await _client.SendAsync(Http3Bytes.Headers([.. Connect, ("content-length", "99")]), isEnd: false);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.DoesNotContain("Content-Length", await upstream.ReadHeadAsync(), StringComparison.OrdinalIgnoreCase);
        await upstream.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        Assert.Equal("403", (await stream.ReadResponseAsync()).Status);
    }

    /// <summary>As over HTTP/2: what is answered is no flood.</summary>
    [Fact]
    [Trait("Rfc", "9220-3")]
    public async Task Small_messages_of_a_web_socket_that_are_answered_are_not_too_much()
    {
        (Http3TestStream stream, UpstreamWire upstream) = await BeginTunnelAsync(new HttpServerLimits
        {
            Http3 = new Http3Limits { OverheadFramesMax = 50, OverheadFramesPerSecond = 1 },
        });
        await stream.ReadHeadAsync();
        for (int i = 0; i < 200; i++)
        {
            await stream.WriteAsync(Http3Bytes.Data("a"u8));
            Assert.Equal("a", await upstream.ReadAsync(1));
            await upstream.SendAsync("b");
            Assert.Equal("b", Encoding.Latin1.GetString((await stream.ReadDataAsync())!));
        }
    }

    private static (string, string)[] Connect =>
    [
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", "/api/s"), (":authority", "a"),
        ("sec-websocket-version", "13"),
    ];

    private async Task<(Http3TestStream Stream, UpstreamWire Upstream)> BeginTunnelAsync(HttpServerLimits? limits = null)
    {
        if (_client is null)
        {
            await OpenAsync(limits);
        }

        Http3TestStream stream = await _client!.SendAsync(Http3Bytes.Headers(Connect), isEnd: false);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        string head = await upstream.ReadHeadAsync();
        Assert.Contains("Upgrade: websocket", head, StringComparison.OrdinalIgnoreCase);
        string key = head.Split("Sec-WebSocket-Key: ")[1].Split('\r')[0];
#pragma warning disable CA5350 // The protocol demands it.
        byte[] hash = System.Security.Cryptography.SHA1.HashData(Encoding.ASCII.GetBytes(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
#pragma warning restore CA5350
        await upstream.SendAsync(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + $"Sec-WebSocket-Accept: {Convert.ToBase64String(hash)}\r\n\r\n");
        return (stream, upstream);
    }

    private static async Task<long> CountToEndAsync(Http3TestStream stream)
    {
        long count = 0;
        while (await stream.ReadDataAsync() is { } piece)
        {
            count += piece.Length;
        }

        return count;
    }

    private async Task OpenAsync(HttpServerLimits? limits = null)
    {
        RunningSite site = await StartProxyAsync(limits);
        _client = await (await site.ListenHttp3Async()).ConnectAsync();
    }

    private async Task<(Http3TestStream Stream, UpstreamWire Upstream)> BeginAsync(byte[] request, bool isEnd = true)
    {
        if (_client is null)
        {
            await OpenAsync();
        }

        Http3TestStream stream = await _client!.SendAsync(request, isEnd);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        return (stream, upstream);
    }
}
