using System.Net;
using System.Runtime.InteropServices;
using Millrace.Quic.Connections;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Http3;

/// <summary>The published program over HTTP/3, with a client of the tests' own.</summary>
public class Http3Tests
{
    private const int Megabyte = 1024 * 1024;

    [Fact]
    [Trait("Rfc", "9114-3.1.1")]
    public async Task Responses_over_http2_say_where_http3_is()
    {
        await using Http3Site site = await Http3Site.StartAsync(static folder => folder.WriteText("file", "text"));
        using HttpClient client = OwnCertificate.Trusting();
        using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(site.Url, "file"))
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        using HttpResponseMessage response = await client.SendAsync(request);
        Assert.StartsWith($"h3=\":{site.Port}\"", Assert.Single(response.Headers.GetValues("alt-svc")), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("1")]
    [InlineData("2")]
    public async Task Many_bodies_at_once_over_several_connections_are_each_whole(string reactors)
    {
        int[] sizes = [0, 1, 300, 10_240, 16_385, 70_000, 300_000, 3_000_000];
        byte[][] contents = [];
        await using Http3Site site = await Http3Site.StartAsync(
            folder => contents = [.. sizes.Select(size => folder.Add($"{size}.bin", size))], "--reactors", reactors);
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection[] connections = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => client.ConnectAsync(site.Port)));

        await Task.WhenAll(connections.SelectMany(connection => Enumerable.Range(0, 40).Select(async i =>
        {
            Http3TestResponse response = await connection.GetAsync($"/{sizes[i % sizes.Length]}.bin");
            Assert.Equal("200", response.Status);
            Assert.Equal(contents[i % sizes.Length], response.Content);
        })));
    }

    [Fact]
    public async Task The_access_log_and_the_metrics_say_http3()
    {
        await using Http3Site site = await Http3Site.StartAsync(static folder => folder.WriteText("file", "text"), "--admin", "127.0.0.1:0");
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Assert.Equal("200", (await connection.GetAsync("/file")).Status);
        Assert.Contains("127.0.0.1", await site.AwaitLogAsync("GET /file HTTP/3.0"), StringComparison.Ordinal);

        using var http = new HttpClient();
        MetricsText metrics = MetricsText.Parse(await http.GetStringAsync(new Uri(site.Server.Admin, "metrics")));
        Assert.Equal(1, metrics.Sum("millrace_requests_total", ("protocol", "3")));
        Assert.Equal(0, metrics.Sum("millrace_quic_rtt_seconds_count"));

        connection.Close();
        await site.AwaitMetricAsync("millrace_quic_rtt_seconds_count", 1);
        Assert.InRange(await site.ReadMetricAsync("millrace_quic_rtt_seconds_sum"), 1e-9, 5);
    }

    /// <summary>The response is larger than what the client's windows hold, so most of it is sent after the signal.</summary>
    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public async Task A_server_that_stops_says_so_and_sends_what_is_under_way()
    {
        byte[] content = [];
        await using Http3Site site = await Http3Site.StartAsync(folder => content = folder.Add("large", 8 * Megabyte));
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Http3TestStream stream = await connection.SendAsync(Http3Bytes.Request("GET", "/large"));
        Assert.Equal("200", (await stream.ReadHeadAsync())![0].Value);

        site.Server.Signal(PosixSignal.SIGTERM);
        await site.Server.AwaitErrorAsync("Draining");
        using var received = new MemoryStream();
        while (await stream.ReadDataAsync() is { } piece)
        {
            received.Write(piece);
        }

        Assert.Equal(content, received.ToArray());
        CloseReason end = await connection.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (end.Source, end.IsApplication, end.Code));
        Assert.NotEmpty(connection.GoAways);
        Assert.Equal(0, await site.Server.ExitCodeAsync());
        LogText.AssertOrderlyEnd(await site.Server.ErrorAsync());
    }

    [Fact]
    public async Task An_open_connection_without_requests_does_not_hold_up_the_end()
    {
        await using Http3Site site = await Http3Site.StartAsync(static folder => folder.WriteText("file", "text"));
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Assert.Equal("200", (await connection.GetAsync("/file")).Status);
        site.Server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await site.Server.ExitCodeAsync());
        Assert.Equal(Http3Codes.NoError, (await connection.Closed).Code);
    }

    /// <summary>Nothing of a slow reader's response is read further than the windows.</summary>
    [Fact]
    public async Task Readers_that_read_nothing_do_not_hold_up_others()
    {
        await using Http3Site site = await Http3Site.StartAsync(
            static folder =>
            {
                folder.Add("large", 30 * Megabyte);
                folder.WriteText("file", "text");
            },
            "--reactors", "1");
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection slow = await client.ConnectAsync(site.Port);
        for (int i = 0; i < 50; i++)
        {
            await slow.SendAsync(Http3Bytes.Request("GET", "/large"));
        }

        Http3TestConnection other = await client.ConnectAsync(site.Port);
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal("200", (await other.GetAsync("/file")).Status);
        }

        Assert.False(slow.HasClosed);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1.1")]
    public async Task Requests_that_are_cancelled_cost_the_others_nothing()
    {
        byte[] content = [];
        await using Http3Site site = await Http3Site.StartAsync(folder => content = folder.Add("large", 2 * Megabyte));
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        for (int i = 0; i < 30; i++)
        {
            Http3TestStream stream = await connection.SendAsync(Http3Bytes.Request("GET", "/large"));
            await stream.ReadHeadAsync();
            stream.StopSending();
        }

        Assert.Equal(content, (await connection.GetAsync("/large")).Content);
    }

    [Theory]
    [InlineData("POST", "405")]
    [InlineData("BREW", "501")]
    public async Task Content_of_requests_that_are_refused_is_taken_or_stopped(string method, string status)
    {
        await using Http3Site site = await Http3Site.StartAsync(static folder => folder.WriteText("file", "text"));
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Assert.Equal(status, (await connection.AskAsync(method, "/file", [], new byte[100_000])).Status);
        Assert.Equal("200", (await connection.GetAsync("/file")).Status);
    }
}
