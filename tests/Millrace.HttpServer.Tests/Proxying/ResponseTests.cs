using System.Text;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Responses of upstreams to clients of HTTP/1.1, in every framing.</summary>
public class ResponseTests : ProxyTest
{
    [Fact]
    public async Task A_response_passes_and_both_connections_serve_the_next()
    {
        (Wire client, UpstreamWire upstream, string head) = await BeginAsync();
        Assert.Equal(
            "GET /api/a?b=c HTTP/1.1\r\nHost: example.org\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n"
            + "X-Forwarded-Host: example.org\r\n\r\n",
            head);
        for (int i = 0; i < 3; i++)
        {
            await upstream.SendAsync("HTTP/1.1 201 Whatever\r\nDate: D\r\nServer: s\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 5\r\n\r\nhello");
            Response response = await client.ReadResponseAsync();
            Assert.Equal("HTTP/1.1 201 Created", response.StatusLine);
            Assert.Equal([("Date", "D"), ("Server", "s"), ("X-A", "1"), ("X-A", "2"), ("Content-Length", "5")], response.Fields);
            Assert.Equal("hello", response.Text);
            await client.SendAsync(Get);
            await upstream.ReadHeadAsync();
        }
    }

    [Theory]
    [InlineData("X-A: 1", "X-A: 1")]
    [InlineData("X-A:1", "X-A: 1")]
    [InlineData("X-A:\t1", "X-A: 1")]
    [InlineData("x-a:  b c \t", "x-a: b c")]
    [InlineData("X-A: 1 ", "X-A: 1")]
    [InlineData("X-A: ", "X-A: ")]
    [InlineData("X-A:", "X-A: ")]
    public async Task A_field_passes_as_a_line_of_the_usual_form(string sent, string passed)
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync($"HTTP/1.1 200 OK\r\n{sent}\r\nDate: D\r\nContent-Length: 0\r\n\r\n");
        string expected = $"HTTP/1.1 200 OK\r\n{passed}\r\nDate: D\r\nContent-Length: 0\r\n\r\n";
        Assert.Equal(expected, Encoding.Latin1.GetString(await client.ReadBytesAsync(expected.Length)));
    }

    [Fact]
    public async Task Static_files_and_proxied_paths_share_a_connection_in_order()
    {
        byte[] file = Folder.AddSized(1000);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(
            $"{Get}GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n{Get}GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        (await client.ReadResponseAsync()).AssertIsWhole(file);
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        (await client.ReadResponseAsync()).AssertIsWhole(file);
    }

    [Fact]
    public async Task A_response_of_unknown_length_becomes_chunks_and_each_piece_passes_at_once()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n");
        Response head = await client.ReadHeadAsync();
        Assert.Equal("chunked", head.Field("Transfer-Encoding"));
        Assert.NotNull(head.Field("Date"));
        await upstream.SendAsync("3\r\nabc\r\n");
        Assert.Equal("3\r\nabc\r\n", Encoding.Latin1.GetString(await client.ReadBytesAsync(8)));
        await upstream.SendAsync("1;x=y\r\nd\r\n0\r\nx-sum: 4\r\nContent-Length: 9\r\n\r\n");
        const string Rest = "1\r\nd\r\n0\r\nx-sum: 4\r\n\r\n";
        Assert.Equal(Rest, Encoding.Latin1.GetString(await client.ReadBytesAsync(Rest.Length)));
        await client.SendAsync(Get);
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task A_response_until_the_connections_end_becomes_chunks()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.0 200 OK\r\n\r\nabc");
        upstream.FinishSending();
        Assert.Equal("chunked", (await client.ReadHeadAsync()).Field("Transfer-Encoding"));
        Assert.Equal("abc", Encoding.Latin1.GetString(await client.ReadChunksAsync()));
    }

    [Fact]
    public async Task A_client_of_http_1_0_gets_it_until_its_connections_end()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync("GET /api/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        await upstream.SendAsync(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
        Response head = await client.ReadHeadAsync();
        Assert.Equal((200, null, "close"), (head.Status, head.Field("Transfer-Encoding"), head.Field("Connection")));
        (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
        Assert.Equal(("abc", WireEnd.Finished), (Encoding.Latin1.GetString(bytes), end));
    }

    [Fact]
    public async Task A_client_of_http_1_0_keeps_its_connection_after_a_known_length()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync("GET /api/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        await upstream.SendAsync(Ok);
        Response response = await client.ReadResponseAsync();
        Assert.Equal(("keep-alive", "ok"), (response.Field("Connection"), response.Text));
    }

    [Theory]
    [InlineData("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 200, "7")]
    [InlineData("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, null)]
    [InlineData("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, null)]
    [InlineData("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: \"a\"\r\n\r\n", 304, "7")]
    [InlineData("DELETE", "HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n", 599, "0")]
    [InlineData("PROPFIND", "HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\n\r\n", 418, "0")]
    public async Task Responses_without_a_body_have_none(string method, string answer, int status, string? length)
    {
        (Wire client, UpstreamWire upstream, string request) = await BeginAsync($"{method} /api/a HTTP/1.1\r\nHost: a\r\n\r\n{Get}");
        Assert.StartsWith($"{method} /api/a HTTP/1.1\r\n", request, StringComparison.Ordinal);
        await upstream.SendAsync(answer);
        Response response = await client.ReadHeadAsync();
        Assert.Equal((status, length, null), (response.Status, response.Field("Content-Length"), response.Field("Transfer-Encoding")));
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Informational_responses_pass_before_the_final_one()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x\r\nX: y\r\n\r\n");
        Response hints = await client.ReadHeadAsync();
        Assert.Equal((103, "</a>", null), (hints.Status, hints.Field("Link"), hints.Field("X")));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Each_byte_alone_in_both_directions_is_the_same()
    {
        await StartProxyAsync();
        Wire client = await Site.ConnectAsync();
        foreach (byte value in "POST /api/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"u8.ToArray())
        {
            await client.SendAsync(new[] { value });
            await Task.Yield();
        }

        UpstreamWire upstream = await Upstream.AcceptAsync();
        Assert.Contains("Transfer-Encoding: chunked\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        string body = "";
        while (!body.EndsWith("0\r\n\r\n", StringComparison.Ordinal))
        {
            body += await upstream.ReadAsync(1);
        }

        Assert.Equal("abcd", string.Concat(body.Split("\r\n").Where(static (_, i) => i % 2 == 1)));
        await upstream.SendSlowlyAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n");
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        Assert.Equal("xyz", Encoding.Latin1.GetString(await client.ReadChunksAsync()));
    }

    [Fact]
    public async Task The_operators_own_fields_and_via_are_written()
    {
        await StartProxyAsync(site: static options => options with
        {
            ProxyVia = true,
            ProxyForwarded = ForwardedFields.Forwarded,
            Fields = [new FieldRule("/api/*", "Server", "mine"), new FieldRule("/other/*", "X-B", "no")],
        });
        (Wire client, UpstreamWire upstream, string head) = await BeginAsync(
            "GET /api/ HTTP/1.1\r\nHost: a:81\r\nX-Forwarded-For: 9.9.9.9\r\nForwarded: for=9\r\nX-Real-IP: 9\r\n\r\n");
        Assert.Equal(
            "GET /api/ HTTP/1.1\r\nHost: a:81\r\nVia: 1.1 millrace\r\nForwarded: for=127.0.0.1;proto=http;host=\"a:81\"\r\n\r\n", head);
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nserver: theirs\r\nServer: again\r\nContent-Length: 2\r\n\r\nok");
        Response response = await client.ReadResponseAsync();
        Assert.Equal(("1.1 millrace", "mine", null), (response.Field("Via"), response.Field("Server"), response.Field("X-B")));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_large_response_waits_for_a_slow_client_in_bounded_memory()
    {
        const int Bytes = 64 * 1024 * 1024;
        await StartProxyAsync();
        Wire client = await Site.ConnectAsync(receiveBufferBytes: 4096);
        await client.SendAsync(Get);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        await upstream.SendAsync($"HTTP/1.1 200 OK\r\nContent-Length: {Bytes}\r\n\r\n");
        Response head = await client.ReadHeadAsync();
        byte[] piece = SiteFolder.Bytes(1024 * 1024);
        Task sending = Task.Run(async () =>
        {
            for (int sent = 0; sent < Bytes; sent += piece.Length)
            {
                await upstream.SendAsync(piece);
            }
        });
        long most = 0;
        for (int read = 0; read < Bytes; read += piece.Length)
        {
            byte[] received = await client.ReadBytesAsync(piece.Length);
            Assert.True(piece.AsSpan().SequenceEqual(received));
            most = Math.Max(most, await Site.LentBytesAsync());
        }

        await sending;
        Assert.Equal(200, head.Status);
        Assert.True(most < 2 * 1024 * 1024, $"{most} bytes were held");
    }

    [Fact]
    public async Task A_response_that_ends_early_ends_with_a_reset()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        await client.ReadBytesAsync(3);
        upstream.Dispose();
        Assert.Equal(WireEnd.Reset, (await client.ReadToEndAsync()).End);
    }
}
