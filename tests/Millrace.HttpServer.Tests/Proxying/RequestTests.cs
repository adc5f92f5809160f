using System.Net.Sockets;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Requests of HTTP/1.1 with bodies, and clients that go away or fail.</summary>
public class RequestTests : ProxyTest
{
    private const string Post = "POST /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";

    [Fact]
    public async Task A_body_passes_with_its_length_and_the_connections_go_on()
    {
        (Wire client, UpstreamWire upstream, string head) = await BeginAsync($"{Post}hello{Get}");
        Assert.Contains("\r\nContent-Length: 5\r\n", head, StringComparison.Ordinal);
        Assert.Equal("hello", await upstream.ReadAsync(5));
        await upstream.SendAsync(Ok);
        Response response = await client.ReadResponseAsync();
        Assert.Equal(("ok", null), (response.Text, response.Field("Connection")));
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Trailers_pass_without_those_that_would_deceive()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(
            "POST /api/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "2\r\nab\r\n0\r\nX-Sum: 1\r\nHost: b\r\nX-Forwarded-For: c\r\n\r\n");
        const string Body = "2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n";
        Assert.Equal(Body, await upstream.ReadAsync(Body.Length));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Continue_is_asked_of_the_upstream()
    {
        (Wire client, UpstreamWire upstream, string head) = await BeginAsync(
            "PUT /api/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        Assert.Contains("Expect: 100-continue\r\n", head, StringComparison.Ordinal);
        await upstream.SendAsync("HTTP/1.1 100 Continue\r\n\r\n");
        Assert.Equal(100, (await client.ReadHeadAsync()).Status);
        await client.SendAsync("abc");
        Assert.Equal("abc", await upstream.ReadAsync(3));
        await upstream.SendAsync(Ok);
        Response response = await client.ReadResponseAsync();
        Assert.Equal(("ok", null), (response.Text, response.Field("Connection")));
    }

    [Fact]
    public async Task A_refusal_before_the_body_closes_both_connections()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(
            "PUT /api/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        await upstream.SendAsync("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
        Response response = await client.ReadResponseAsync();
        Assert.Equal((417, "close"), (response.Status, response.Field("Connection")));
        await client.AssertEndsAsync();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task An_answer_within_an_upload_ends_it()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync("PUT /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\nabc");
        await upstream.ReadAsync(3);
        await upstream.SendAsync("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
        Response response = await client.ReadResponseAsync();
        Assert.Equal((413, "close", "no"), (response.Status, response.Field("Connection"), response.Text));
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_large_upload_waits_for_a_slow_upstream_in_bounded_memory()
    {
        const int Bytes = 64 * 1024 * 1024;
        (Wire client, UpstreamWire upstream, _) = await BeginAsync($"PUT /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: {Bytes}\r\n\r\n");
        byte[] piece = SiteFolder.Bytes(1024 * 1024);
        Task sending = Task.Run(async () =>
        {
            for (int sent = 0; sent < Bytes; sent += piece.Length)
            {
                await client.SendAsync(piece);
            }
        });
        long most = 0;
        byte[] buffer = new byte[piece.Length];
        for (int read = 0; read < Bytes;)
        {
            int at = read % piece.Length;
            int count = await upstream.Socket.ReceiveAsync(buffer.AsMemory(0, piece.Length - at), TestContext.Current.CancellationToken);
            Assert.True(piece.AsSpan(at, count).SequenceEqual(buffer.AsSpan(0, count)));
            read += count;
            if (at + count == piece.Length)
            {
                most = Math.Max(most, await Site.LentBytesAsync());
            }
        }

        await sending;
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        Assert.True(most < 2 * 1024 * 1024, $"{most} bytes were held");
    }

    [Fact]
    public async Task A_malformed_body_is_answered_with_400_and_ends_the_upstreams_connection()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(
            "POST /api/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
        Assert.Equal("2\r\nab\r\n", await upstream.ReadAsync(7));
        await client.SendAsync("zz\r\n");
        Response response = await client.ReadResponseAsync();
        Assert.Equal((400, "close"), (response.Status, response.Field("Connection")));
        await client.AssertEndsAsync();
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task A_body_that_stalls_is_answered_with_408()
    {
        await StartProxyAsync(new HttpServerLimits { ReceiveStall = TimeSpan.FromMilliseconds(300) });
        (Wire client, UpstreamWire upstream, _) = await BeginAsync($"{Post}he");
        Response response = await client.ReadResponseAsync();
        Assert.Equal((408, "close"), (response.Status, response.Field("Connection")));
        await AssertEndsAfterAsync(upstream, "he");
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_pause_of_the_upstream_is_not_the_clients()
    {
        const int Bytes = 16 * 1024 * 1024;
        await StartProxyAsync(new HttpServerLimits { ReceiveStall = TimeSpan.FromMilliseconds(300) });
        (Wire client, UpstreamWire upstream, _) = await BeginAsync($"PUT /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: {Bytes}\r\n\r\n");
        Task sending = client.SendAsync(new byte[Bytes]);
        // Sleeps: the client waits longer than a stalled one may.
        await Task.Delay(1500, TestContext.Current.CancellationToken);
        Assert.False(sending.IsCompleted);
        byte[] buffer = new byte[1024 * 1024];
        for (int read = 0; read < Bytes;)
        {
            read += await upstream.Socket.ReceiveAsync(buffer, SocketFlags.None, TestContext.Current.CancellationToken);
        }

        await sending;
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_client_that_goes_away_ends_the_exchange(bool hasHead)
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        if (hasHead)
        {
            await upstream.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
            await client.ReadHeadAsync();
        }

        client.Reset();
        await upstream.AssertEndsAsync();
        await Site.EmptiedAsync();
    }

    [Fact]
    public async Task A_client_that_ends_within_its_body_ends_the_exchange()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync($"{Post}he");
        client.FinishSending();
        await client.AssertEndsAsync();
        await AssertEndsAfterAsync(upstream, "he");
    }

    [Fact]
    public async Task A_client_that_only_ends_its_direction_gets_its_response()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        client.FinishSending();
        await Task.Delay(100, TestContext.Current.CancellationToken);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        await client.AssertEndsAsync();
    }

    [Fact]
    public async Task Connection_options_are_removed_with_what_they_name()
    {
        (_, _, string head) = await BeginAsync(
            "GET http://b/api/?x HTTP/1.1\r\nHost: b\r\nConnection: close, X-Secret, keep-alive\r\nKeep-Alive: 5\r\nx-secret: 1\r\n"
            + "Proxy-Connection: a\r\nTE: trailers, gzip\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nProxy-Authorization: y\r\nAccept: */*\r\n\r\n");
        Assert.Equal(
            "GET /api/?x HTTP/1.1\r\nHost: b\r\nAccept: */*\r\nTE: trailers\r\nConnection: TE\r\nX-Forwarded-For: 127.0.0.1\r\n"
            + "X-Forwarded-Proto: http\r\nX-Forwarded-Host: b\r\n\r\n",
            head);
    }

    [Fact]
    public async Task Too_many_connection_options_are_refused()
    {
        await StartProxyAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync($"GET /api/ HTTP/1.1\r\nHost: b\r\nConnection: {string.Join(',', Enumerable.Repeat("x", 33))}\r\n\r\n");
        Assert.Equal(400, (await client.ReadResponseAsync()).Status);
        await client.AssertEndsAsync();
    }

    private static async Task AssertEndsAfterAsync(UpstreamWire upstream, string bytes)
    {
        Assert.Equal(bytes, await upstream.ReadAsync(bytes.Length));
        await upstream.AssertEndsAsync();
    }
}
