using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>A port of plain HTTP that sends its clients to HTTPS.</summary>
public class RedirectTests : SiteFixture
{
    private readonly RecordingObserver _observer = new();

    [Theory]
    [InlineData("a.example:80", "/a?b", "https://a.example/a?b")]
    [InlineData("[::1]:80", "/", "https://[::1]/")]
    public async Task A_request_is_sent_to_the_same_host(string host, string target, string location)
    {
        Wire wire = await (await StartAsync()).ConnectPlainAsync();
        await wire.SendAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");

        Response response = await wire.ReadResponseAsync();

        Assert.Equal((308, location), (response.Status, response.Field("Location")));
        await wire.AssertEndsAsync();
    }

    // RFC 9110 section 7.4: it would be sent to what it has asked for.
    [Fact]
    public async Task An_https_resource_that_is_asked_for_here_is_misdirected()
    {
        Wire wire = await (await StartAsync()).ConnectPlainAsync();
        await wire.SendAsync("GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n");

        Assert.Equal(421, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task What_a_certificate_authority_asks_for_is_answered_and_nothing_behind_it()
    {
        byte[] proof = Folder.Add("/.well-known/acme-challenge/aZ0-_token", "token.thumbprint"u8.ToArray());
        RunningSite site = await StartAsync(observe: _ => _observer.OnFinished);
        Wire wire = await site.ConnectPlainAsync();
        string request = "GET /.well-known/acme-challenge/aZ0-_token HTTP/1.1\r\nHost: a.example\r\n\r\n";
        await wire.SendAsync(request + request);

        Response response = await wire.ReadResponseAsync();

        response.AssertIsWhole(proof);
        Assert.Equal("close", response.Field("Connection"));
        await wire.AssertEndsAsync();
        Assert.Equal(200, (await _observer.NextAsync()).Status);
    }

    [Theory]
    [InlineData("/.well-known/acme-challenge/")]
    [InlineData("/.well-known/acme-challenge")]
    [InlineData("/.well-known/acme-challenge/../../f1000.bin")]
    [InlineData("/.well-known/acme-challenge/%2e%2e/%2e%2e/f1000.bin")]
    [InlineData("/.well-known/acme-challenge/a/b")]
    [InlineData("/.WELL-KNOWN/acme-challenge/a")]
    [InlineData("/a/.well-known/acme-challenge/a")]
    public async Task What_only_looks_like_a_challenge_is_sent_to_https(string target)
    {
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectPlainAsync();
        await wire.SendAsync($"GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n");

        Assert.Equal(308, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("Host: :80\r\n")]
    [InlineData("Host: :\r\n")]
    [InlineData("Host:\r\n")]
    public async Task Without_a_host_it_is_not_sent_to_what_its_path_names(string field)
    {
        Wire wire = await (await StartAsync()).ConnectPlainAsync();
        await wire.SendAsync($"GET /evil.example/ HTTP/1.1\r\n{field}\r\n");

        Response response = await wire.ReadResponseAsync();

        Assert.Equal(400, response.Status);
        Assert.Null(response.Field("Location"));
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("G")]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\n")]
    public async Task A_head_that_does_not_end_is_answered_408_and_recorded(string beginning)
    {
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { Head = TimeSpan.FromMilliseconds(300) }, observe: _ => _observer.OnFinished);
        Wire wire = await site.ConnectPlainAsync();
        await wire.SendAsync(beginning);

        Response response = await wire.ReadResponseAsync();

        Assert.Equal((408, "close"), (response.Status, response.Field("Connection")));
        await wire.AssertEndsAsync();
        Assert.Equal(408, (await _observer.NextAsync()).Status);
    }

    [Fact]
    public async Task Who_asks_for_nothing_is_answered_nothing()
    {
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { Head = TimeSpan.FromMilliseconds(300) }, observe: _ => _observer.OnFinished);
        Wire wire = await site.ConnectPlainAsync();

        Assert.Empty((await wire.ReadToEndAsync()).Bytes);
    }
}
