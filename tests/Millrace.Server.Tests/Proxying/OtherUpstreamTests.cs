using System.Net;
using System.Net.Http.Headers;
using System.Text;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>Node and nginx behind the program, for clients of HTTP/1.1 and HTTP/2.</summary>
public class OtherUpstreamTests
{
    public static TheoryData<string> Versions => ProxiedSite.Versions;

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Nodes_trailers_reach_the_client(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartNodeAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        using HttpResponseMessage response = await site.SendAsync(
            version, HttpMethod.Get, "/api/trailers", change: static request => request.Headers.TE.ParseAdd("trailers"));
        Assert.Equal("with trailers", await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
        Assert.Equal(["42"], response.TrailingHeaders.GetValues("X-Sum"));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Nodes_early_hints_and_ends_by_close_are_understood(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartNodeAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        Assert.Equal("after hints", await site.GetAsync(version, "/api/hints"));
        Assert.Equal("until the end", await site.GetAsync(version, "/api/close"));
        Assert.Equal(404, await site.StatusAsync(version, "/api/nothing"));
        using HttpResponseMessage echo = await site.SendAsync(
            version, HttpMethod.Post, "/api/echo", new StreamContent(new OneWayStream("grain"u8.ToArray())));
        Assert.Equal("POST chunked grain {}", await echo.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task A_client_of_http_1_1_sees_the_early_hints()
    {
        await using ServerProcess upstream = await Upstreams.StartNodeAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        using Wire wire = Wire.Open(site.Url);
        WireResponse hints = wire.Ask("/api/hints");
        Assert.Equal(103, hints.Status);
        Assert.Equal("</style.css>; rel=preload; as=style", hints.Field("Link"));
    }

    /// <summary>The upstream closes an idle connection after 20 ms; the request that meets its end is sent again.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    public async Task A_connection_that_node_closes_when_it_is_idle_costs_no_request(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartNodeAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        var connections = new HashSet<string>();
        for (int i = 0; i < 60; i++)
        {
            connections.Add(await site.GetAsync(version, "/api/connection"));
            // Sleeps: the upstream's own time limit has to pass, or nearly.
            await Task.Delay(10 + (i % 20), TestContext.Current.CancellationToken);
        }

        Assert.InRange(connections.Count, 2, 60);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Nginx_serves_files_ranges_and_codings_through_it(string version)
    {
        using var folder = new TempFolder();
        Directory.CreateDirectory(folder.PathOf("api"));
        byte[] content = folder.Add("api/large.bin", 3_000_000);
        string text = string.Concat(Enumerable.Range(0, 1_000).Select(static i => $"line {i}\n"));
        folder.WriteText("api/text.txt", text);
        await using ServerProcess upstream = await Upstreams.StartNginxAsync(folder);
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));

        using HttpResponseMessage whole = await site.SendAsync(version, HttpMethod.Get, "/api/large.bin");
        Assert.Equal(content, await whole.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken));
        using HttpResponseMessage part = await site.SendAsync(
            version, HttpMethod.Get, "/api/large.bin", change: static request => request.Headers.Range = new RangeHeaderValue(1_000_000, null));
        Assert.Equal(HttpStatusCode.PartialContent, part.StatusCode);
        Assert.Equal(content[1_000_000..], await part.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken));
        using HttpResponseMessage unchanged = await site.SendAsync(
            version, HttpMethod.Get, "/api/large.bin", change: request => request.Headers.IfNoneMatch.Add(whole.Headers.ETag!));
        Assert.Equal(HttpStatusCode.NotModified, unchanged.StatusCode);
        using HttpResponseMessage head = await site.SendAsync(version, HttpMethod.Head, "/api/large.bin");
        Assert.Equal(3_000_000, head.Content.Headers.ContentLength);
        using HttpResponseMessage coded = await site.SendAsync(
            version, HttpMethod.Get, "/api/text.txt", change: static request => request.Headers.AcceptEncoding.ParseAdd("gzip"));
        Assert.Equal(["gzip"], coded.Content.Headers.ContentEncoding);
        Assert.Equal(text, await site.GetAsync(version, "/api/text.txt"));

        HashSet<string> connections = [];
        for (int i = 0; i < 20; i++)
        {
            connections.Add(await site.GetAsync(version, "/api/connection"));
        }

        Assert.EndsWith(" 127.0.0.1", Assert.Single(connections), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Trailers_of_a_request_reach_node()
    {
        await using ServerProcess upstream = await Upstreams.StartNodeAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        using Wire wire = Wire.Open(site.Url);
        WireResponse response = wire.Send(Encoding.ASCII.GetBytes(
            "POST /api/echo HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ngrain\r\n0\r\nX-Sum: 7\r\n\r\n"));
        Assert.Equal("POST chunked grain {\"x-sum\":\"7\"}", Encoding.ASCII.GetString(response.Body));
    }
}
