using System.Net;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>The heads that pass, by themselves: what is removed, replaced and added.</summary>
public class HeadTests
{
    private readonly ProxyRequestHead _heads = new();

    [Theory]
    [InlineData("GET /a?b HTTP/1.1\r\nHost: h", "GET /a?b HTTP/1.1\r\n")]
    [InlineData("GET http://h/a?b HTTP/1.1\r\nHost: h", "GET /a?b HTTP/1.1\r\n")]
    [InlineData("GET http://h?b HTTP/1.1\r\nHost: h", "GET /?b HTTP/1.1\r\n")]
    [InlineData("GET http://h HTTP/1.1\r\nHost: h", "GET / HTTP/1.1\r\n")]
    [InlineData("OPTIONS http://h HTTP/1.1\r\nHost: h", "OPTIONS * HTTP/1.1\r\n")]
    [InlineData("BREW /%2F%zz HTTP/1.0", "BREW /%2F%zz HTTP/1.1\r\n")]
    public void The_line_has_the_targets_origin_form(string request, string line) => Assert.Equal(line, Make(request).Line);

    [Fact]
    public void A_target_of_the_rule_replaces_the_requests() =>
        Assert.Equal("GET /new?x HTTP/1.1\r\n", Make("GET /a HTTP/1.1\r\nHost: h", target: "/new?x").Line);

    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: h:80", false, "h:80")]
    [InlineData("GET http://t/ HTTP/1.1\r\nHost: h", false, "t")]
    [InlineData("GET / HTTP/1.0", false, "")]
    [InlineData("GET / HTTP/1.1\r\nHost: h", true, "")]
    public void The_host_is_the_requests_or_the_upstreams(string request, bool isReplaced, string host) =>
        Assert.Equal(host, Make(request, new ProxyRule("/*", []) { ReplacesHost = isReplaced }).Host);

    [Theory]
    [InlineData("", "")]
    [InlineData("Content-Length: 0", "Content-Length: 0\r\n")]
    [InlineData("Content-Length: 7", "Content-Length: 7\r\n")]
    [InlineData("Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n")]
    [InlineData("Connection: Content-Length\r\nContent-Length: 7", "Content-Length: 7\r\n")]
    [InlineData("Connection: Transfer-Encoding, Host\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n")]
    [InlineData("Expect: 100-continue\r\nContent-Length: 1", "Expect: 100-continue\r\nContent-Length: 1\r\n")]
    [InlineData("Expect: other", "")]
    [InlineData("Connection: a , ,b\r\nA: 1\r\nB: 2\r\nC: 3\r\nconnection: c", "")]
    [InlineData("TE: gzip\r\nTrailer: x\r\nVia: 1.1 a", "Trailer: x\r\nVia: 1.1 a\r\n")]
    [InlineData("TE: gzip, Trailers\r\nConnection: TE", "TE: trailers\r\nConnection: TE\r\n")]
    [InlineData("Upgrade: websocket", "")]
    [InlineData("Connection: upgrade\r\nUpgrade: h2c", "")]
    [InlineData("Connection: upgrade\r\nUpgrade: websocket, h2c", "")]
    [InlineData("Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1", "Content-Length: 1\r\n")]
    [InlineData("Connection: Upgrade\r\nUpgrade: websocket", "Upgrade: websocket\r\nConnection: Upgrade\r\n")]
    [InlineData(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nTE: trailers", "Upgrade: websocket\r\nTE: trailers\r\nConnection: Upgrade, TE\r\n")]
    [InlineData("X-Forwarded-For: 1\r\nX-Forwarded-Port: 2\r\nForwarded: for=3\r\nX-Real-IP: 4\r\nX-Forwarder: 5", "X-Forwarder: 5\r\n")]
    public void Fields_of_the_connection_and_claims_do_not_pass(string fields, string passed)
    {
        string request = $"POST / HTTP/1.1\r\nHost: h{(fields.Length == 0 ? "" : "\r\n")}{fields}".Replace(
            "POST", fields.Contains("Upgrade", StringComparison.OrdinalIgnoreCase) ? "GET" : "POST", StringComparison.Ordinal);
        Assert.Equal(passed, Make(request, new ProxyRule("/*", []) { Forwarded = ForwardedFields.None }).Fields);
    }

    [Fact]
    public void An_old_client_cannot_expect_anything() =>
        Assert.Equal("Content-Length: 1\r\n", Make(
            "PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1", new ProxyRule("/*", []) { Forwarded = ForwardedFields.None }).Fields);

    [Theory]
    [InlineData(nameof(ForwardedFields.XForwarded), false, "X-Forwarded-For: ::1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: h\r\n")]
    [InlineData(
        nameof(ForwardedFields.XForwarded),
        true,
        "Forwarded: for=9\r\nX-Forwarded-Proto: p\r\nX-Forwarded-For: 8, 7, ::1\r\nX-Forwarded-Host: h\r\n")]
    [InlineData(nameof(ForwardedFields.Forwarded), false, "Forwarded: for=\"[::1]\";proto=https;host=\"h\"\r\n")]
    [InlineData(
        nameof(ForwardedFields.Forwarded),
        true,
        "X-Forwarded-For: 8\r\nX-Forwarded-For: 7\r\nX-Forwarded-Proto: p\r\nForwarded: for=9, for=\"[::1]\";proto=https;host=\"h\"\r\n")]
    [InlineData(nameof(ForwardedFields.None), true, "")]
    public void A_trusted_proxy_is_appended_to_and_a_stranger_replaced(string kind, bool isTrusted, string fields) =>
        Assert.Equal(fields, Make(
            "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 8\r\nForwarded: for=9\r\nX-Forwarded-For: 7\r\nX-Forwarded-Proto: p",
            new ProxyRule("/*", []) { Forwarded = Enum.Parse<ForwardedFields>(kind) },
            client: new ForwardedClient(IPAddress.IPv6Loopback, isTrusted, isHttps: true)).Fields);

    [Fact]
    public void A_client_of_a_unix_socket_has_no_address()
    {
        var client = new ForwardedClient(null, isTrusted: false, isHttps: false);
        Assert.Equal("X-Forwarded-Proto: http\r\n", Make("GET / HTTP/1.0", client: client).Fields);
        Assert.Equal("Forwarded: for=unknown;proto=http\r\n", Make(
            "GET / HTTP/1.0", new ProxyRule("/*", []) { Forwarded = ForwardedFields.Forwarded }, client: client).Fields);
    }

    [Theory]
    [InlineData(false, "X-Forwarded-For: ::1\r\n")]
    [InlineData(true, "X-Forwarded-For: 8, ::1\r\n")]
    public void Each_request_of_a_connection_gets_its_own_fields(bool isTrusted, string first)
    {
        var client = new ForwardedClient(IPAddress.IPv6Loopback, isTrusted, isHttps: false);
        Assert.Equal(
            $"{first}X-Forwarded-Proto: http\r\nX-Forwarded-Host: h\r\n",
            Make("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 8", client: client).Fields);
        Assert.Equal(
            "X-Forwarded-For: ::1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: i\r\n",
            Make("GET / HTTP/1.1\r\nHost: i", client: client).Fields);
    }

    [Theory]
    [InlineData(32, true)]
    [InlineData(33, false)]
    public void The_number_of_connection_options_is_limited(int options, bool isMade)
    {
        string connection = string.Join(',', Enumerable.Repeat("", options));
        Assert.Equal(isMade, Make($"GET / HTTP/1.1\r\nHost: h\r\nConnection: {connection}", mayFail: true).IsMade);
    }

    [Theory]
    [InlineData("X-A: 1\r\nx-b:2 \r\n", "X-A: 1\r\nx-b: 2\r\n")]
    [InlineData("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: a\r\nConnection: b\r\nAuthorization: c\r\nCookie: d\r\nTE: e\r\n", "")]
    [InlineData("X-Forwarded-For: a\r\nForwarded: b\r\nSet-Cookie: c\r\nContent-Type: d\r\nTrailer: e\r\nX: y\r\n", "X: y\r\n")]
    [InlineData("Remote-User: a\r\nREMOTE_USER: b\r\nX: y\r\n", "X: y\r\n")]
    [InlineData("", "")]
    public void Trailers_that_would_deceive_do_not_pass(string lines, string passed) =>
        Assert.Equal(passed, Encoding.Latin1.GetString(_heads.Trailers(Encoding.Latin1.GetBytes(lines), ["remote-user"u8.ToArray()])));

    [Theory]
    [InlineData("dGhlIHNhbXBsZSBub25jZQ==", false)]
    public void Each_handshake_has_a_key_of_its_own(string sample, bool isSame)
    {
        WebSocketKey first = WebSocketKey.Next();
        WebSocketKey second = WebSocketKey.Next();
        Assert.Equal(isSame, first.Value.SequenceEqual(second.Value));
        Assert.Equal(sample.Length, first.Value.Length);
        Assert.Equal(16, Convert.FromBase64String(Encoding.ASCII.GetString(first.Value)).Length);
    }

    private (bool IsMade, string Line, string Host, string Fields) Make(
        string request, ProxyRule? rule = null, string target = "", ForwardedClient? client = null, bool mayFail = false)
    {
        byte[] bytes = Encoding.Latin1.GetBytes($"{request}\r\n\r\n");
        var head = new RequestHead();
        Assert.True(RequestHeadParser.Parse(bytes, head, HeadLimits.Default).IsComplete);
        bool isMade = _heads.TryMake(
            head,
            bytes,
            ResponsePlan.ToUpstream(rule ?? new ProxyRule("/*", []), Encoding.Latin1.GetBytes(target), FieldSet.Empty),
            client ?? new ForwardedClient(IPAddress.Loopback, isTrusted: false, isHttps: false),
            head.Version,
            default,
            head.Body != BodyFraming.None,
            isHeld: false,
            out UpstreamRequest made);
        Assert.True(isMade || mayFail);
        return (isMade, Encoding.Latin1.GetString(made.Line), Encoding.Latin1.GetString(made.Host), Encoding.Latin1.GetString(made.Fields));
    }
}
