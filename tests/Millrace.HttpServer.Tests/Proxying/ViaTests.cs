using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>The Via field names the version in which each message was received (RFC 9110, section 7.6.3).</summary>
[Trait("Rfc", "9110-7.6.3")]
public class ViaTests : ProxyTest
{
    private const string Earlier = "1.1 first";

    [Theory]
    [InlineData("1.0", "1.1")]
    [InlineData("1.1", "1.1")]
    [InlineData("1.1", "1.0")]
    public async Task Over_http_1_it_names_the_clients_version_and_the_upstreams(string clients, string upstreams)
    {
        await StartProxyAsync(site: static options => options with { ProxyVia = true });
        Wire client = await Site.ConnectAsync();
        await client.SendAsync($"GET /api/ HTTP/{clients}\r\nHost: a\r\nVia: {Earlier}\r\n\r\n");
        await AnswerAsync(clients, upstreams);
        Assert.Equal([Earlier, $"{upstreams} millrace"], ValuesOf((await client.ReadHeadAsync()).Fields));
    }

    [Theory]
    [InlineData("1.0")]
    [InlineData("1.1")]
    public async Task Over_http_2_the_request_came_by_2(string upstreams)
    {
        await StartProxyAsync(site: static options => options with { ProxyVia = true });
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        await client.SendAsync(Frame.Headers(1, Block.Get("/api/", $"via: {Earlier}")));
        await AnswerAsync("2", upstreams);
        Assert.Equal([Earlier, $"{upstreams} millrace"], ValuesOf((await client.ReadResponseAsync(1)).Fields));
    }

    [Theory]
    [InlineData("1.0")]
    [InlineData("1.1")]
    public async Task Over_http_3_the_request_came_by_3(string upstreams)
    {
        CarriesHttps = static _ => true;
        await StartProxyAsync(site: static options => options with { ProxyVia = true });
        Http3TestConnection client = await (await Site.ListenHttp3Async()).ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/api/", $"via: {Earlier}"));
        await AnswerAsync("3", upstreams);
        Assert.Equal([Earlier, $"{upstreams} millrace"], ValuesOf((await stream.ReadHeadAsync())!));
    }

    private static IEnumerable<string> ValuesOf(IEnumerable<(string Name, string Value)> fields) =>
        fields.Where(static field => field.Name.Equals("via", StringComparison.OrdinalIgnoreCase)).Select(static field => field.Value);

    /// <summary>Checks what the upstream has got, and answers in its version.</summary>
    private async Task AnswerAsync(string received, string version)
    {
        UpstreamWire upstream = await Upstream.AcceptAsync();
        string head = await upstream.ReadHeadAsync();
        string[] lines = [.. head.Split("\r\n").Where(static line => line.StartsWith("via:", StringComparison.OrdinalIgnoreCase))];
        Assert.Equal([Earlier, $"{received} millrace"], lines.Select(static line => line["via:".Length..].Trim()));
        await upstream.SendAsync($"HTTP/{version} 200 OK\r\nVia: {Earlier}\r\nContent-Length: 2\r\n\r\nok");
    }
}
