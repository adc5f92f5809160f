using System.Net;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Kit;
using HttpVersion = Millrace.Http.HttpVersion;

namespace Millrace.HttpServer.Tests;

/// <summary>What observers get to know of requests over HTTP/1.1, and when.</summary>
public class ExchangeTests : SiteFixture
{
    private const int LargeSize = 16 * 1024 * 1024;

    private readonly RecordingObserver _observer = new();

    [Fact]
    public async Task A_request_is_reported_with_what_it_said_and_what_it_got()
    {
        Folder.AddSized(1000);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();
        DateTime before = DateTime.UtcNow;

        await wire.SendAsync("GET /f1000.bin?a=b HTTP/1.0\r\nHost: example.org:80\r\nReferer: http://a/\r\nUser-Agent: curl/8\r\n"
            + "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\nForwarded: for=3.3.3.3\r\n\r\n");
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal("GET /f1000.bin?a=b", seen.Line);
        Assert.Equal("", seen.Malformed);
        Assert.Equal("example.org:80", seen.Host);
        Assert.Equal("http://a/", seen.Referer);
        Assert.Equal("curl/8", seen.UserAgent);
        Assert.Equal("1.1.1.1, 2.2.2.2", seen.ForwardedFor);
        Assert.Equal("for=3.3.3.3", seen.Forwarded);
        Assert.Equal((HttpVersion.Http10, 200, 1000, true), (seen.Protocol, seen.Status, seen.BodyBytes, seen.IsWhole));
        Assert.Equal((ResponseBodySource.InMemory, ContentCoding.Identity), (seen.Body, seen.Coding));
        Assert.Equal(IPAddress.Loopback, ((IPEndPoint)seen.Peer!).Address);
        Assert.InRange(seen.StartedAt, before, DateTime.UtcNow);
        Assert.True(seen.Elapsed > TimeSpan.Zero);
    }

    [Fact]
    public async Task An_empty_line_after_a_request_is_no_beginning_of_the_next()
    {
        Folder.AddSized(1000);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync("GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n\r\n");
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        _ = await _observer.NextAsync();
        DateTime before = DateTime.UtcNow;

        (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));

        Assert.InRange((await _observer.NextAsync()).StartedAt, before, DateTime.UtcNow);
    }

    [Theory]
    [InlineData("GET", "", 1000, 200, 1000, "InMemory")]
    [InlineData("GET", "", 50_000, 200, 50_000, "InMemory")]
    [InlineData("GET", "", 100_000, 200, 100_000, "SingleRead")]
    [InlineData("GET", "", 600_000, 200, 600_000, "Stream")]
    [InlineData("GET", "", 0, 200, 0, "InMemory")]
    [InlineData("HEAD", "", 600_000, 200, 0, "None")]
    [InlineData("GET", "Range: bytes=10-19\r\n", 100_000, 206, 10, "SingleRead")]
    [InlineData("GET", "If-None-Match: *\r\n", 1000, 304, 0, "None")]
    [InlineData("GET", "Range: bytes=9000-\r\n", 1000, 416, -1, "Text")]
    [InlineData("DELETE", "", 1000, 405, -1, "Text")]
    public async Task Bytes_and_their_source_are_those_of_the_response(
        string method, string fields, int size, int status, int bytes, string body)
    {
        Folder.AddSized(size);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();

        await wire.SendAsync($"{method} {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        Response response = await wire.ReadResponseAsync(method);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(status, response.Status);
        Assert.Equal((status, true, body), (seen.Status, seen.IsWhole, seen.Body.ToString()));
        Assert.Equal(bytes < 0 ? response.Body.Length : bytes, seen.BodyBytes);
    }

    [Fact]
    public async Task The_coding_is_that_of_the_representation()
    {
        byte[] gzip = Folder.AddGzip("/f1000.bin", Folder.AddSized(1000));
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();

        await wire.SendAsync("GET /f1000.bin HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
        Assert.Equal("gzip", (await wire.ReadResponseAsync()).Field("Content-Encoding"));

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((ContentCoding.Gzip, gzip.Length), (seen.Coding, seen.BodyBytes));
    }

    [Fact]
    public async Task Several_ranges_count_with_what_stands_between_them()
    {
        Folder.AddSized(100_000);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();

        await wire.SendAsync("GET /f100000.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9,50000-50009\r\n\r\n");
        Response response = await wire.ReadResponseAsync();

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((206, (long)response.Body.Length, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
    }

    [Fact]
    public async Task Pipelined_requests_are_reported_one_by_one_in_their_order()
    {
        Folder.AddSized(1000);
        Folder.AddSized(100_000);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();
        string[] targets = [.. Enumerable.Range(0, 30).Select(i => i % 3 == 0 ? $"/f100000.bin?{i}" : i % 3 == 1 ? $"/f1000.bin?{i}" : $"/{i}")];

        await wire.SendAsync(string.Concat(targets.Select(target => $"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")));
        var responses = new List<Response>();
        foreach (string _ in targets)
        {
            responses.Add(await wire.ReadResponseAsync());
        }

        for (int i = 0; i < targets.Length; i++)
        {
            SeenExchange seen = await _observer.NextAsync();
            Assert.Equal($"GET {targets[i]}", seen.Line);
            Assert.Equal((responses[i].Status, (long)responses[i].Body.Length, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
        }
    }

    [Theory]
    [InlineData("\x16\x03\x01\x02\r\n\r\n", 400, "GET x", "\x16\x03\x01\x02")]
    [InlineData("GET / HTTP/1.1\r\nA: b\r\n\r\n", 400, "GET /", "")]
    [InlineData("GET / HTTP/3.0\r\n\r\n", 505, " ", "GET / HTTP/3.0")]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "GET /", "")]
    public async Task A_request_that_is_refused_is_reported_as_far_as_it_was_understood(string request, int status, string line, string malformed)
    {
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();

        await wire.SendAsync(request);
        Response response = await wire.ReadResponseAsync();

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(status, response.Status);
        Assert.Equal((status, ResponseBodySource.Text, true), (seen.Status, seen.Body, seen.IsWhole));
        Assert.Equal(response.Body.Length, seen.BodyBytes);
        Assert.Equal(malformed, seen.Malformed);
        Assert.Equal(malformed.Length > 0 ? " " : line, seen.Line);
    }

    [Fact]
    public async Task A_head_that_came_too_slowly_is_reported_with_408_and_the_time_it_took()
    {
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { Head = TimeSpan.FromMilliseconds(150) }, observe: _ => _observer.OnFinished);
        Wire wire = await site.ConnectAsync();

        await wire.SendAsync("GET /slow HTTP/1.1\r\nUser-Agent: tired\r\n");
        Assert.Equal(408, (await wire.ReadResponseAsync()).Status);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(("GET /slow", "tired", 408), (seen.Line, seen.UserAgent, seen.Status));
        Assert.True(seen.Elapsed >= TimeSpan.FromMilliseconds(140), seen.Elapsed.ToString());
    }

    [Fact]
    public async Task A_connection_beyond_the_limit_is_reported_with_503()
    {
        RunningSite site = await StartAsync(
            engine: new EngineOptions { Reactors = 1, Limits = new Limits { Connections = 1 } }, observe: _ => _observer.OnFinished);
        Wire served = await site.ConnectAsync();
        _ = await served.GetAsync("/first");
        Assert.Equal("GET /first", (await _observer.NextAsync()).Line);
        Wire refused = await site.ConnectAsync();

        Assert.Equal(503, (await refused.GetAsync("/second")).Status);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(("GET /second", 503, true), (seen.Line, seen.Status, seen.IsWhole));
        Assert.NotNull(seen.Peer);
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task A_response_that_nobody_takes_is_not_reported_before_it_is_over()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await ObserveAsync();
        Wire slow = await site.ConnectAsync(receiveBufferBytes: 4096);
        Wire other = await site.ConnectAsync();

        await slow.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        _ = await slow.ReadHeadAsync();
        _ = await other.GetAsync("/other");
        Assert.Equal("GET /other", (await _observer.NextAsync()).Line);
        _ = await slow.ReadBytesAsync(LargeSize);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((200, (long)LargeSize, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
    }

    [Theory]
    [InlineData(LargeSize)]
    [InlineData(200_000)]
    [InlineData(60_000)]
    public async Task Of_a_download_that_is_broken_off_the_bytes_are_those_that_went_out(int size)
    {
        Folder.AddSized(size);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        int copies = Math.Max(1, LargeSize / size);
        string request = $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n";

        await wire.SendAsync(string.Concat(Enumerable.Repeat(request, copies)));
        _ = await wire.ReadHeadAsync();
        _ = await wire.ReadBytesAsync(5_000);
        wire.Reset();

        SeenExchange seen = await _observer.NextAsync();
        while (seen.IsWhole)
        {
            Assert.Equal(size, seen.BodyBytes);
            seen = await _observer.NextAsync();
        }

        Assert.Equal(200, seen.Status);
        Assert.InRange(seen.BodyBytes, size == LargeSize ? 5_000 : 0, size - 1);
    }

    [Fact]
    public async Task A_file_that_has_shrunk_is_recorded_with_its_new_length()
    {
        Folder.AddSized(200_000);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();
        Folder.SetLength("/f200000.bin", 77_777);

        Assert.Equal(77_777, (await wire.GetAsync("/f200000.bin")).Body.Length);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((200, 77_777, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
    }

    [Fact]
    public async Task A_file_that_cannot_be_read_is_reported_with_500()
    {
        Folder.AddSized(100_000);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();
        Assert.Equal(1, BadDisk.Fail(Folder.PathOf("/f100000.bin")));

        Response response = await wire.GetAsync("/f100000.bin");

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((500, (long)response.Body.Length, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
        Assert.Equal(ResponseBodySource.Text, seen.Body);
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task What_the_drain_cuts_off_is_reported_as_cut()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        await wire.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        _ = await wire.ReadHeadAsync();

        await site.Group.StopAsync(TimeSpan.Zero);

        SeenExchange seen = Assert.Single(_observer.TakeAll());
        Assert.False(seen.IsWhole);
        Assert.InRange(seen.BodyBytes, 1, LargeSize - 1);
    }

    [Fact]
    public async Task Who_leaves_without_a_whole_request_is_not_reported()
    {
        RunningSite site = await ObserveAsync();
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync("GET / HTTP/1.1\r\nHo");
        wire.FinishSending();
        await wire.AssertEndsAsync();
        Wire other = await site.ConnectAsync();

        _ = await other.GetAsync("/next");

        Assert.Equal("GET /next", (await _observer.NextAsync()).Line);
    }

    [Fact]
    public async Task Every_request_is_reported_exactly_once_whatever_clients_do()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync(engine: new EngineOptions { Reactors = 2 }, observe: _ => _observer.OnFinished);
        int[] sizes = SiteFolder.Sizes;
        await Task.WhenAll(Enumerable.Range(0, 16).Select(async client =>
        {
            for (int i = 0; i < 30; i++)
            {
                Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
                string target = $"{SiteFolder.Target(sizes[(client + i) % sizes.Length])}?{client}.{i}";
                await wire.SendAsync($"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
                _ = await wire.ReadHeadAsync();
                if (i % 2 == 0)
                {
                    wire.Reset();
                }
                else
                {
                    wire.Dispose();
                }
            }
        }));
        await site.Group.StopAsync(TimeSpan.FromSeconds(10));

        string[] lines = [.. _observer.TakeAll().Select(static seen => seen.Line)];
        Assert.Equal(16 * 30, lines.Length);
        Assert.Equal(lines.Length, lines.Distinct().Count());
    }

    private Task<RunningSite> ObserveAsync() => StartAsync(observe: _ => _observer.OnFinished);
}
