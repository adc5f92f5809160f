using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Requests over HTTP/3 (RFC 9114, section 4), and their bodies.</summary>
public class RequestTests : Http3Test
{
    [Fact]
    public async Task Requests_are_answered_one_after_the_other_and_at_once()
    {
        Http3TestConnection client = await OpenAsync();
        AssertIsWhole(await client.GetAsync(Small), 1000);
        Assert.Equal("404", (await client.GetAsync("/nothing")).Status);
        Assert.Equal("304", (await client.GetAsync(Small, "if-none-match: *")).Status);
        Http3TestResponse[] all = await Task.WhenAll(Enumerable.Range(0, 50).Select(i => client.GetAsync(i % 5 == 0 ? Large : Small)));
        for (int i = 0; i < all.Length; i++)
        {
            AssertIsWhole(all[i], i % 5 == 0 ? LargeBytes : 1000);
        }
    }

    [Fact]
    public async Task More_requests_than_may_be_open_wait_at_the_client()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestResponse[] all = await Task.WhenAll(Enumerable.Range(0, 500).Select(_ => client.GetAsync(Small)));
        Assert.All(all, static response => AssertIsWhole(response, 1000));
    }

    [Fact]
    public async Task HEAD_has_no_content()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestResponse response = await client.AskAsync("HEAD", Large, []);
        Assert.Equal(("200", $"{LargeBytes}", 0), (response.Status, response["content-length"], response.Content.Length));
    }

    [Fact]
    [Trait("Rfc", "9114-4.1.2")]
    public async Task Malformed_requests_are_reset_and_nothing_else()
    {
        (string, string)[][] malformed =
        [
            [(":method", "GET")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":path", "/"), (":authority", "a")],
            [(":method", "GET"), (":scheme", "https"), (":path", ""), (":authority", "a")],
            [(":method", "GET"), (":scheme", "https"), ("a", "b"), (":path", "/"), (":authority", "a")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a"), ("A", "b")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a"), ("a", "b\n")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a"), ("connection", "close")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a"), ("transfer-encoding", "chunked")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a"), (":status", "200")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a"), ("content-length", "1"), ("content-length", "2")],
            [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", "/"), (":authority", "a")],
        ];
        Http3TestConnection client = await OpenAsync();
        foreach ((string, string)[] fields in malformed)
        {
            Http3TestStream stream = await client.SendAsync(Http3Bytes.Headers(fields));
            Http3TestException? reset = await Record.ExceptionAsync(stream.ReadToEndAsync) as Http3TestException;
            Assert.True(reset?.StreamCode == Http3Codes.MessageError, string.Join(", ", fields));
        }

        await AssertServesAsync(client);
    }

    [Theory]
    [Trait("Rfc", "9114-4.1.2")]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task A_body_of_another_length_than_announced_makes_a_request_malformed(int bytes)
    {
        Http3TestConnection client = await OpenAsync();
        byte[] head = Http3Bytes.Request("POST", "/none", "content-length: 3");
        Http3TestStream stream = await client.SendAsync((byte[])[.. head, .. bytes == 0 ? [] : Http3Bytes.Data(new byte[bytes])]);
        await AssertResetsAsync(stream, Http3Codes.MessageError);
        await AssertServesAsync(client);
    }

    [Fact]
    public async Task A_body_is_read_and_dropped()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] bytes = [.. Http3Bytes.Request("POST", "/none", "content-length: 30000"), .. Http3Bytes.Data(new byte[10_000])];
        Http3TestStream stream = await client.SendAsync(bytes, isEnd: false);
        Assert.Equal("405", (await ReadHeadAsync(stream)).Status);
        await stream.WriteAsync(Http3Bytes.Data(new byte[20_000]), isEnd: true);
        await stream.Closed;
        Assert.Null(stream.StopCode);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task A_body_that_nobody_needs_is_not_read_to_its_end()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/none"), isEnd: false);
        Assert.Equal("405", (await ReadHeadAsync(stream)).Status);
        await Assert.ThrowsAsync<Http3TestException>(async () =>
        {
            for (int i = 0; i < 1_000; i++)
            {
                await stream.WriteAsync(Http3Bytes.Data(new byte[10_000]));
            }
        });
        Assert.Equal(Http3Codes.NoError, stream.StopCode);
        await stream.Closed;
        await AssertServesAsync(client);
    }

    [Fact]
    public async Task A_body_announced_too_large_for_a_page_is_refused()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Small, "content-length: 1000000"), isEnd: false);
        Assert.Equal("413", (await ReadHeadAsync(stream)).Status);
        await stream.Stopped;
        Assert.Equal(Http3Codes.NoError, stream.StopCode);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task Trailers_are_checked_and_dropped()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] request = [.. Http3Bytes.Request("POST", "/none"), .. Http3Bytes.Data(1)];
        Http3TestStream good = await client.SendAsync((byte[])[.. request, .. Http3Bytes.Headers(("a", "b")), .. Http3Bytes.Grease()]);
        Assert.Equal("405", (await good.ReadResponseAsync()).Status);
        Http3TestStream bad = await client.SendAsync((byte[])[.. request, .. Http3Bytes.Headers((":path", "/"))]);
        await Assert.ThrowsAsync<Http3TestException>(bad.ReadToEndAsync);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task Two_requests_on_one_stream_are_malformed()
    {
        byte[] request = Http3Bytes.Request("POST", "/none");
        await AssertResetsAsync(Http3Codes.MessageError, [.. request, .. request]);
    }

    [Fact]
    [Trait("Rfc", "9114-8")]
    public async Task An_error_code_that_is_not_known_ends_its_stream_as_any_other()
    {
        Http3TestConnection client = await OpenAsync();
        foreach (long code in (long[])[0, 0x21, Http3Codes.ClosedCriticalStream, (1L << 62) - 1])
        {
            Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/none"), isEnd: false);
            stream.Abort(code);
            stream.StopSending(code);
            await stream.Closed;
        }

        await AssertServesAsync(client);
    }

    [Fact]
    public async Task A_request_on_a_connection_for_another_host_is_misdirected()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        Http3Endpoint endpoint = await site.ListenHttp3Async(isCovered: static host => host == "localhost");
        Http3TestConnection client = await endpoint.ConnectAsync();
        AssertIsWhole(await client.GetAsync(Small), 1000);
        Http3TestStream other = await client.SendAsync(Http3Bytes.Headers(
            (":method", "GET"), (":scheme", "https"), (":authority", "other"), (":path", Small)));
        Assert.Equal("421", (await other.ReadResponseAsync()).Status);
        AssertIsWhole(await client.GetAsync(Small), 1000);
    }

    [Fact]
    public async Task Each_request_is_recorded_once()
    {
        Folder.AddSized(1000);
        var observer = new RecordingObserver();
        RunningSite site = await StartAsync(observe: _ => observer.OnFinished);
        Http3TestConnection client = await (await site.ListenHttp3Async()).ConnectAsync();
        AssertIsWhole(await client.GetAsync(Small, "user-agent: test"), 1000);
        SeenExchange seen = await observer.NextAsync();
        Assert.Equal(
            ("GET " + Small, "localhost", "test", Millrace.Http.HttpVersion.Http3, 200, 1000L, true, ResponseBodySource.InMemory),
            (seen.Line, seen.Host, seen.UserAgent, seen.Protocol, seen.Status, seen.BodyBytes, seen.IsWhole, seen.Body));
        Assert.NotNull(seen.Peer);
        Http3TestStream cut = await client.SendAsync(Http3Bytes.Request("POST", "/none"), isEnd: false);
        Assert.Equal("405", (await ReadHeadAsync(cut)).Status);
        cut.Abort();
        Assert.Equal(405, (await observer.NextAsync()).Status);
        Assert.Empty(observer.TakeAll());
    }

    private static async Task<Http3TestResponse> ReadHeadAsync(Http3TestStream stream) =>
        new([], (await stream.ReadHeadAsync())!, [], null);

    /// <summary>As over HTTP/2, where its window stays closed.</summary>
    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task A_large_body_that_no_response_needs_is_stopped_within_the_response()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large), isEnd: false);
        Http3TestException stopped = await Assert.ThrowsAsync<Http3TestException>(
            () => stream.WriteAsync(Http3Bytes.Data(new byte[4_000_000]), isEnd: true));
        Assert.Equal(Http3Codes.NoError, stopped.StreamCode);
        AssertIsWhole(await stream.ReadResponseAsync(), LargeBytes);
        await AssertServesAsync(client);
    }
}
