using System.Text;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Rules;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying;

/// <summary>Upstreams that give no response, or not all of it: what the client gets, and what the record says.</summary>
public class FailureTests : ProxyTest
{
    private static readonly UpstreamOptions Hasty = new()
    {
        FirstByteTimeout = TimeSpan.FromMilliseconds(300),
        IdleTimeout = TimeSpan.FromMilliseconds(300),
    };

    private readonly RecordingObserver _observer = new();

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_upstream_that_refuses_is_a_502_with_the_sites_page(bool isHttp2)
    {
        Folder.Add("/502.html", Encoding.ASCII.GetBytes("<p>sorry"));
        await StartProxyAsync(
            site: static options => options with
            {
                Proxies = [new ProxyRule("/api/*", [RawUpstream.RefusingTarget()])],
                ErrorPages = new Dictionary<int, string> { [502] = "/502.html" },
            },
            observe: _ => _observer.OnFinished);
        Response response = await RequestAsync(isHttp2);
        Assert.Equal((502, "<p>sorry", null), (response.Status, response.Text, response.Field("Connection")));
        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((502, "GET /api/", ResponseBodySource.InMemory), (seen.Status, seen.Line, seen.Body));
        Assert.StartsWith("http://127.0.0.1:", seen.Upstream, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(false, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")]
    [InlineData(true, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")]
    [InlineData(false, "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n")]
    [InlineData(true, "HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n")]
    [InlineData(false, "HTTP/1.1 200 OK\r\nConnection: ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\nContent-Length: 2\r\n\r\nok")]
    [InlineData(true, "HTTP/1.1 200 OK\r\nConnection: ,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\nContent-Length: 2\r\n\r\nok")]
    [InlineData(false, "garbage\r\n\r\n")]
    public async Task A_malformed_head_is_a_502(bool isHttp2, string head)
    {
        await StartProxyAsync();
        Task<Response> responding = RequestAsync(isHttp2);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(head);
        Assert.Equal(502, (await responding).Status);
        await upstream.AssertEndsAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_upstream_that_closes_without_a_response_is_a_502(bool isHttp2)
    {
        await StartProxyAsync();
        Task<Response> responding = RequestAsync(isHttp2);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        upstream.Dispose();
        Assert.Equal(502, (await responding).Status);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_silent_upstream_is_a_504(bool isHttp2)
    {
        await StartProxyAsync(upstreams: Hasty, observe: _ => _observer.OnFinished);
        Task<Response> responding = RequestAsync(isHttp2);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        Assert.Equal(504, (await responding).Status);
        await upstream.AssertEndsAsync();
        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((504, Upstream.Target), (seen.Status, seen.Upstream));
        Assert.InRange(seen.UpstreamElapsed, TimeSpan.FromMilliseconds(250), seen.Elapsed);
    }

    [Fact]
    public async Task A_silence_within_a_response_cuts_it()
    {
        await StartProxyAsync(upstreams: Hasty);
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
        await client.ReadHeadAsync();
        Assert.Equal(WireEnd.Reset, (await client.ReadToEndAsync()).End);
        await upstream.AssertEndsAsync();
    }

    [Fact]
    public async Task An_error_within_an_upload_closes_the_connection()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync("PUT /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
        await upstream.ReadAsync(3);
        upstream.Dispose();
        Response response = await client.ReadResponseAsync();
        Assert.Equal((502, "close"), (response.Status, response.Field("Connection")));
        await client.AssertEndsAsync();
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", "3\r\nabc\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n", "3\r\nabc\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nbad trailer\r\n\r\n", "3\r\nabc\r\n")]
    public async Task Bad_chunks_cut_the_response(string answer, string passed)
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync();
        await upstream.SendAsync(answer);
        (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
        string text = Encoding.Latin1.GetString(bytes);
        Assert.Equal(WireEnd.Reset, end);
        Assert.DoesNotContain("0\r\n\r\n", text, StringComparison.Ordinal);
        Assert.True(text.EndsWith(passed, StringComparison.Ordinal) || !text.Contains("abc", StringComparison.Ordinal), text);
        await upstream.AssertEndsAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_record_of_a_response_names_its_upstream(bool isHttp2)
    {
        await StartProxyAsync(observe: _ => _observer.OnFinished);
        Task<Response> responding = RequestAsync(isHttp2);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await responding).Text);
        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(
            (200, 2L, true, ResponseBodySource.Upstream, Upstream.Target),
            (seen.Status, seen.BodyBytes, seen.IsWhole, seen.Body, seen.Upstream));
        Assert.InRange(seen.UpstreamElapsed, TimeSpan.FromTicks(1), seen.Elapsed);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_exchange_under_way_is_finished_when_the_server_stops(bool isHttp2)
    {
        await StartProxyAsync();
        Task<Response> responding = RequestAsync(isHttp2);
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        Task stopping = Site.Group.StopAsync(TimeSpan.FromSeconds(30));
        // Sleeps: the stop is to begin before the response.
        await Task.Delay(200, TestContext.Current.CancellationToken);
        await upstream.SendAsync(Ok);
        Assert.Equal("ok", (await responding).Text);
        Assert.False(stopping.IsFaulted);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_tunnel_ends_with_the_time_for_stopping()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync(
            "GET /api/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        await upstream.SendAsync("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        await client.ReadHeadAsync();
        Task stopping = Site.Group.StopAsync(TimeSpan.FromSeconds(1));
        await client.SendAsync("ping");
        Assert.Equal("ping", await upstream.ReadAsync(4));
        Assert.Equal(WireEnd.Reset, (await client.ReadToEndAsync()).End);
        await upstream.AssertEndsAsync();
        await stopping.WaitAsync(TimeSpan.FromSeconds(30), TestContext.Current.CancellationToken);
    }

    private async Task<Response> RequestAsync(bool isHttp2)
    {
        if (isHttp2)
        {
            Http2Wire client = await Http2Wire.OpenAsync(Site);
            await client.SendAsync(Frame.Headers(1, Block.Get("/api/")));
            while (!client.Of(1).IsOver)
            {
                Frame frame = await client.ReadFrameAsync();
                if (frame.Type != Millrace.Http.FrameType.GoAway)
                {
                    await client.TakeAsync(frame);
                }
            }

            return client.Of(1).ToResponse();
        }

        Wire wire = await Site.ConnectAsync();
        await wire.SendAsync("GET /api/ HTTP/1.1\r\nHost: a\r\n\r\n");
        return await wire.ReadResponseAsync();
    }
}
