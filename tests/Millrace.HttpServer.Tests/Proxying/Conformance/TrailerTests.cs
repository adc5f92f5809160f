using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>
/// Trailers of requests and responses (RFC 9110, section 6.5.1): a recipient may merge them into the head, so that those that would frame,
/// route, control or authenticate the message there, or say how to read its content, are not passed on.
/// </summary>
public sealed class TrailerTests : ProxyTest
{
    private const string Allowed =
        "X-Sum: 1\r\nServer-Timing: a;dur=1\r\nETag: \"a\"\r\ngrpc-status: 0\r\nAuthentication-Info: b\r\nContent-Digest: c\r\n";

    private static readonly string[] Forbidden =
    [
        "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "TE", "Trailer",
        "Host", "Max-Forwards", "Expect", "Pragma", "Cache-Control", "Range",
        "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
        "Authorization", "WWW-Authenticate", "Proxy-Authenticate", "Proxy-Authorization", "Cookie", "Set-Cookie",
        "Age", "Date", "Expires", "Location", "Retry-After", "Vary", "Warning",
        "Content-Type", "Content-Encoding", "Content-Range", "Content-Language", "Content-Location", "Content-Disposition",
        "Content-Security-Policy", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP",
        "cOnTeNt-LeNgTh", "hOsT", "sEt-CoOkIe",
    ];

    /// <summary>Those that HTTP/2 refuses altogether (RFC 9113, section 8.2.2).</summary>
    private static readonly string[] MalformedInHttp2 = ["transfer-encoding", "connection", "keep-alive", "proxy-connection", "upgrade", "te"];

    [Fact]
    public async Task Forbidden_trailers_of_a_response_do_not_reach_a_client_of_http_1_1()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(Get.Replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", StringComparison.Ordinal));
        await upstream.SendAsync(Response());
        (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
        string text = Encoding.Latin1.GetString(bytes);
        Assert.Equal(WireEnd.Finished, end);
        Assert.EndsWith($"\r\n\r\n2\r\nok\r\n0\r\n{Allowed}\r\n", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Forbidden_trailers_of_a_response_do_not_reach_a_client_of_http_2()
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        await client.SendAsync(Frame.Headers(1, Block.Get("/api/a")));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Response());
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(("ok", true), (exchange.Text, exchange.IsWhole));
        int head = exchange.Fields.FindIndex(static field => field.Name == "x-sum");
        Assert.Equal(LowerLines(Allowed), exchange.Fields[head..].Select(static field => $"{field.Name}: {field.Value}"));
        Assert.DoesNotContain(exchange.Fields[..head], static field => field.Value == "evil");
    }

    [Fact]
    public async Task Forbidden_trailers_of_a_client_of_http_1_1_do_not_reach_the_upstream()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(
            $"POST /api/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n{Mixed(Forbidden)}\r\n");
        string body = $"2\r\nab\r\n0\r\n{Allowed}\r\n";
        Assert.Equal(body, await upstream.ReadAsync(body.Length));
        await AssertNextIsAsync(upstream, client);
    }

    [Fact]
    public async Task Forbidden_trailers_of_a_client_of_http_2_do_not_reach_the_upstream()
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        string[] sendable = [.. Forbidden.Select(static name => name.ToLowerInvariant()).Except(MalformedInHttp2)];
        await client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/api/"), FrameFlags.EndHeaders),
            Frame.Data(1, "ab"u8, FrameFlags.None),
            Frame.Headers(1, Block.Of([.. LowerLines(Mixed(sendable)).Select(static line => (line.Split(": ")[0], line.Split(": ")[1]))])));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        string body = $"2\r\nab\r\n0\r\n{string.Concat(LowerLines(Allowed).Select(static line => $"{line}\r\n"))}\r\n";
        Assert.Equal(body, await upstream.ReadAsync(body.Length));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync(1)).Text);
    }

    [Fact]
    public async Task Trailers_of_http_2_that_are_for_one_connection_reset_the_stream()
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        for (int i = 0; i < MalformedInHttp2.Length; i++)
        {
            int streamId = (2 * i) + 1;
            await client.SendAsync(
                Frame.Headers(streamId, Block.Request("POST", "/api/"), FrameFlags.EndHeaders),
                Frame.Data(streamId, "ab"u8, FrameFlags.None),
                Frame.Headers(streamId, Block.Of((MalformedInHttp2[i], "evil"))));
            Assert.Equal(Http2Error.ProtocolError, (await client.ReadAsync(streamId)).Reset);
        }
    }

    private static string Response() => $"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n{Mixed(Forbidden)}\r\n";

    /// <summary>Forbidden lines before, between and after those that pass.</summary>
    private static string Mixed(string[] forbidden)
    {
        string[] allowed = Allowed.Split("\r\n", StringSplitOptions.RemoveEmptyEntries);
        string evil = string.Concat(forbidden.Select(static name => $"{name}: evil\r\n"));
        return evil + string.Concat(allowed.Select(line => $"{line}\r\n{forbidden[0]}: evil\r\n"));
    }

    private static string[] LowerLines(string lines) =>
    [
        .. lines.Split("\r\n", StringSplitOptions.RemoveEmptyEntries)
            .Select(static line => line[..line.IndexOf(':', StringComparison.Ordinal)].ToLowerInvariant() + line[line.IndexOf(':', StringComparison.Ordinal)..]),
    ];

    private static async Task AssertNextIsAsync(UpstreamWire upstream, Wire client)
    {
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        await client.SendAsync(Get);
        Assert.StartsWith("GET /api/a?b=c HTTP/1.1\r\n", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }
}
