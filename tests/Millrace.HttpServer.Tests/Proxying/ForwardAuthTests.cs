using System.Net;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Access;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>A service that decides on requests, for files and for an application.</summary>
public class ForwardAuthTests : ProxyTest
{
    private const string Granted = "HTTP/1.1 204 No Content\r\nRemote-User: jane\r\nRemote-Groups: a\r\nRemote-Groups: b\r\nX-Other: c\r\n\r\n";

    private RawUpstream _service = null!;

    [Fact]
    public async Task The_service_is_asked_with_a_GET_that_says_what_the_client_wants()
    {
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync(
            "POST /api/a?b=c HTTP/1.1\r\nHost: example.org\r\nCookie: s=1\r\nAuthorization: Bearer t\r\nContent-Length: 5\r\n"
            + "Content-Type: text/plain\r\nIf-None-Match: *\r\nRange: bytes=0-1\r\nConnection: X-Secret\r\nX-Secret: 1\r\n"
            + "X-Forwarded-Uri: /public\r\nX_Forwarded_Uri: /public\r\nX-Forwarded-Method: GET\r\nX-Forwarded-For: 9.9.9.9\r\n"
            + "X-Forwarded-Host: evil\r\nX-Original-URL: /public\r\n\r\nhello");
        UpstreamWire service = await _service.AcceptAsync();

        string head = await service.ReadHeadAsync();

        Assert.StartsWith("GET /verify?x HTTP/1.1\r\n", head, StringComparison.Ordinal);
        string[] expected =
        [
            $"Host: {_service.Target["http://".Length..]}", "Cookie: s=1", "Authorization: Bearer t", "Content-Type: text/plain",
            "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: example.org", "X-Forwarded-Method: POST",
            "X-Forwarded-Uri: /api/a?b=c",
        ];
        Assert.Equal(expected.Order(), head.Split("\r\n", StringSplitOptions.RemoveEmptyEntries)[1..].Order());
        Assert.False(Upstream.HasPending);
        await service.SendAsync(Granted);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        Assert.Equal("hello", await upstream.ReadAsync(5));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task The_application_gets_fields_of_the_service_and_never_those_of_the_client()
    {
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        const string Forged = "Remote-User: root\r\nREMOTE_USER: root\r\nremote-groups: wheel\r\nConnection: Remote-User\r\n";
        await client.SendAsync($"GET /api/a HTTP/1.1\r\nHost: a\r\n{Forged}\r\n");
        UpstreamWire service = await _service.AcceptAsync();
        await service.ReadHeadAsync();
        await service.SendAsync(Granted);

        UpstreamWire upstream = await Upstream.AcceptAsync();
        string head = await upstream.ReadHeadAsync();

        Assert.Contains("\r\nRemote-User: jane\r\nRemote-Groups: a\r\nRemote-Groups: b\r\n", head, StringComparison.Ordinal);
        Assert.DoesNotContain("root", head, StringComparison.Ordinal);
        Assert.DoesNotContain("wheel", head, StringComparison.Ordinal);
        Assert.DoesNotContain("X-Other", head, StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);

        // Where no service is asked, and where it sets none of the fields.
        await client.SendAsync($"GET /api/open/a HTTP/1.1\r\nHost: a\r\n{Forged}\r\n");
        head = await upstream.ReadHeadAsync();
        Assert.DoesNotContain("root", head, StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        await client.SendAsync($"GET /api/a HTTP/1.1\r\nHost: a\r\n{Forged}\r\n");
        await service.ReadHeadAsync();
        await service.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        head = await upstream.ReadHeadAsync();
        Assert.DoesNotContain("root", head, StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Trailers_do_not_carry_the_fields_of_the_service_either()
    {
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync(
            "POST /api/open/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nRemote-User: root\r\nX-Sum: 1\r\n\r\n");
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        const string Body = "2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n";
        Assert.Equal(Body, await upstream.ReadAsync(Body.Length));
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await client.ReadResponseAsync()).Text);
        Http2Wire streams = await Http2Wire.OpenAsync(Site, true, 0);
        await streams.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/api/open/x"), FrameFlags.EndHeaders),
            Frame.Data(1, "ab"u8, FrameFlags.None),
            Frame.Headers(1, Block.Of(("remote-user", "root"), ("x-sum", "1"))));
        await upstream.ReadHeadAsync();
        Assert.Contains("0\r\nx-sum: 1\r\n\r\n", await upstream.ReadAsync(Body.Length), StringComparison.Ordinal);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await streams.ReadResponseAsync(1)).Text);
    }

    [Theory]
    [InlineData("GET")]
    [InlineData("POST")]
    [InlineData("HEAD")]
    public async Task Another_answer_goes_to_the_client_as_it_is(string method)
    {
        Folder.AddSized(1000);
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        for (int i = 0; i < 2; i++)
        {
            await client.SendAsync($"{method} /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
            await AnswerAsync(
                "HTTP/1.1 302 Found\r\nLocation: https://login/?a\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Type: text/html\r\n"
                + "Content-Length: 5\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\n\r\nlogin");

            Response response = await client.ReadResponseAsync(method);

            Assert.Equal((302, "https://login/?a", "text/html"), (response.Status, response.Field("Location"), response.Field("Content-Type")));
            Assert.Equal(method == "HEAD" ? "" : "login", response.Text);
            Assert.Equal("5", response.Field("Content-Length"));
            Assert.Null(response.Field("X-Secret"));
            Assert.Null(response.Field("Connection"));
            Assert.Equal(["a=1", "b=2"], response.Fields.Where(static field => field.Name == "Set-Cookie").Select(static field => field.Value));
        }

        Assert.False(Upstream.HasPending);
    }

    [Theory]
    [InlineData("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n", 401)]
    [InlineData("HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", 403)]
    [InlineData("HTTP/1.1 444 No\r\nContent-Length: 2\r\n\r\nno", 444)]
    [InlineData("HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno", 500)]
    [InlineData("HTTP/1.1 304 Not Modified\r\n\r\n", 304)]
    [InlineData("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", 403)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nno", 502)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nno", 502)]
    [InlineData("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", 502)]
    [InlineData("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 502)]
    [InlineData("200 OK", 502)]
    [InlineData("", 502)]
    public async Task What_is_not_a_whole_2xx_lets_nobody_pass(string answer, int status)
    {
        Folder.Add("secret.txt", "secret"u8.ToArray());
        await StartAuthorizedAsync();
        foreach (string path in (string[])["/secret.txt", "/api/a"])
        {
            Wire client = await Site.ConnectAsync();
            await client.SendAsync($"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            await AnswerAsync(answer, ends: true);
            Response response = await client.ReadResponseAsync();
            Assert.Equal(status, response.Status);
            Assert.DoesNotContain("secret", response.Text, StringComparison.Ordinal);
        }

        Assert.False(Upstream.HasPending);
    }

    [Fact]
    public async Task A_service_that_is_down_or_silent_lets_nobody_pass()
    {
        Folder.Add("secret.txt", "secret"u8.ToArray());
        await StartAuthorizedAsync(new UpstreamOptions { FirstByteTimeout = TimeSpan.FromMilliseconds(300) });
        Wire client = await Site.ConnectAsync();
        Assert.Equal(504, (await client.GetAsync("/secret.txt")).Status);
        _service.StopListening();
        Assert.Equal(502, (await client.GetAsync("/secret.txt")).Status);
        Assert.Equal(200, (await client.GetAsync("/open/index.html")).Status);
    }

    [Fact]
    public async Task A_refusal_too_large_to_keep_is_502()
    {
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync("GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");
        UpstreamWire service = await _service.AcceptAsync();
        await service.ReadHeadAsync();
        await service.SendAsync($"HTTP/1.1 403 Forbidden\r\nContent-Length: 400000\r\n\r\n{new string('x', 300_000)}");
        Assert.Equal(502, (await client.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task Streams_wait_for_the_service_each_by_itself()
    {
        byte[] file = Folder.AddSized(1000);
        await StartAuthorizedAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site, true, 0);
        Task<Response> first = client.GetAsync(1, "/f1000.bin");
        UpstreamWire service = await _service.AcceptAsync();
        string head = await service.ReadHeadAsync();
        Assert.Contains("\r\nX-Forwarded-Uri: /f1000.bin\r\n", head, StringComparison.Ordinal);
        await service.SendAsync(Granted);
        (await first).AssertIsWhole(file);
        Task<Response> second = client.GetAsync(3, "/f1000.bin");
        await service.ReadHeadAsync();
        await service.SendAsync("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 2\r\n\r\nno");
        Response refused = await second;
        Assert.Equal((401, "Bearer", "no"), (refused.Status, refused.Field("www-authenticate"), refused.Text));
    }

    /// <summary>The upstream would take the rest for another request, or another request for the rest.</summary>
    [Theory]
    [InlineData("ab")]
    [InlineData("hello GET / HTTP/1.1")]
    public async Task A_body_that_stalls_while_the_service_thinks_still_has_the_length_that_it_claims(string body)
    {
        await StartAuthorizedAsync(limits: new HttpServerLimits { ReceiveStall = TimeSpan.FromMilliseconds(200) });
        Http2Wire client = await Http2Wire.OpenAsync(Site, true, 0);
        await client.SendAsync(Frame.Headers(1, Block.Request("POST", "/api/a", "content-length: 5"), FrameFlags.EndHeaders));
        UpstreamWire service = await _service.AcceptAsync();
        await service.ReadHeadAsync();
        // Sleeps: longer than a body may stall.
        await Task.Delay(800, TestContext.Current.CancellationToken);
        await client.SendAsync(Frame.Data(1, Encoding.ASCII.GetBytes(body)));
        Assert.Equal(Http2Error.ProtocolError, (await client.ReadAsync(1)).Reset);
        await service.SendAsync(Granted);
        Assert.False(Upstream.HasPending);
    }

    [Theory]
    [InlineData("/open/../api/%61", "/api/a")]
    [InlineData("//api//a?b=%2e", "/api/a?b=%2e")]
    [InlineData("/API/a", "/API/a")]
    [InlineData("/api%2fa", "/api/a")]
    public async Task The_service_decides_on_the_path_that_rules_match(string sent, string told)
    {
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync($"GET {sent} HTTP/1.1\r\nHost: a\r\n\r\n");
        UpstreamWire service = await _service.AcceptAsync();
        Assert.Contains($"\r\nX-Forwarded-Uri: {told}\r\n", await service.ReadHeadAsync(), StringComparison.Ordinal);
        await service.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        Assert.Equal(403, (await client.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task A_trusted_proxy_is_kept_but_not_about_the_target()
    {
        FindsClients = new ClientFinder(new ClientOptions { Trusted = [IPNetwork.Parse("127.0.0.1/32")] });
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync(
            "GET /api/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Uri: /public\r\n\r\n");
        UpstreamWire service = await _service.AcceptAsync();
        string head = await service.ReadHeadAsync();
        Assert.Contains("\r\nX-Forwarded-For: 192.0.2.1, 127.0.0.1\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nX-Forwarded-Proto: https\r\n", head, StringComparison.Ordinal);
        Assert.DoesNotContain("/public", head, StringComparison.Ordinal);
        await service.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        Assert.Equal(403, (await client.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task A_client_that_leaves_while_the_service_thinks_leaves_nothing_behind()
    {
        await StartAuthorizedAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync("GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");
        UpstreamWire service = await _service.AcceptAsync();
        await service.ReadHeadAsync();
        client.Reset();
        await service.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        Wire next = await Site.ConnectAsync();
        await next.SendAsync("GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");
        await service.ReadHeadAsync();
        await service.SendAsync("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        Assert.Equal(403, (await next.ReadResponseAsync()).Status);
    }

    private async Task AnswerAsync(string answer, bool ends = false)
    {
        UpstreamWire service = await _service.AcceptAsync();
        await service.ReadHeadAsync();
        await service.SendAsync(answer);
        if (ends)
        {
            service.Dispose();
        }
    }

    private Task<RunningSite> StartAuthorizedAsync(UpstreamOptions? upstreams = null, HttpServerLimits? limits = null)
    {
        Folder.Add("open/index.html", "open"u8.ToArray());
        _service = Own(RawUpstream.Start());
        return StartProxyAsync(limits, upstreams: upstreams, site: options => options with
        {
            ForwardAuth =
            [
                ForwardAuthRule.Parse("/open/*=off"),
                ForwardAuthRule.Parse("/api/open/*=off"),
                ForwardAuthRule.Parse($"{_service.Target}/verify?x"),
            ],
            ForwardAuthCopy = ["Remote-User", "Remote-Groups"],
        });
    }
}
