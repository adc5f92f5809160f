using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>What observers get to know of requests over HTTP/2.</summary>
public class ExchangeTests : SiteFixture
{
    private readonly RecordingObserver _observer = new();

    [Fact]
    public async Task A_request_is_reported_with_what_it_said_and_what_it_got()
    {
        Folder.AddSized(1000);
        Http2Wire client = await OpenAsync();

        _ = await client.GetAsync(1, "/f1000.bin?a", "referer: r", "user-agent: u", "x-forwarded-for: 1.2.3.4");

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(("GET /f1000.bin?a", "r", "u", "1.2.3.4"), (seen.Line, seen.Referer, seen.UserAgent, seen.ForwardedFor));
        Assert.Equal((HttpVersion.Http2, 200, 1000, true), (seen.Protocol, seen.Status, seen.BodyBytes, seen.IsWhole));
        Assert.NotEqual("", seen.Host);
    }

    [Theory]
    [InlineData(50_000, "x: y", 200, "InMemory")]
    [InlineData(100_000, "x: y", 200, "SingleRead")]
    [InlineData(1_000_000, "x: y", 200, "Stream")]
    [InlineData(100_000, "range: bytes=10-19", 206, "SingleRead")]
    [InlineData(100_000, "range: bytes=10-19,50000-50001", 206, "SingleRead")]
    [InlineData(1000, "if-none-match: *", 304, "None")]
    public async Task Bytes_and_their_source_are_those_of_the_response(int size, string field, int status, string body)
    {
        Folder.AddSized(size);
        Http2Wire client = await OpenAsync();

        Response response = await client.GetAsync(1, SiteFolder.Target(size), field);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(status, response.Status);
        Assert.Equal((status, (long)response.Body.Length, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
        Assert.Equal(body, seen.Body.ToString());
    }

    [Fact]
    public async Task A_stream_that_its_client_takes_back_is_reported_with_what_was_sent_of_it()
    {
        Folder.AddSized(1_000_000);
        Http2Wire client = await OpenAsync(opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get("/f1000000.bin")));
        int received = 0;
        while (received < 65_535)
        {
            Frame frame = await client.ReadUntilAsync(FrameType.Data);
            received += frame.Payload.Length;
        }

        await client.SendAsync(Frame.Reset(1));

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((200, 65_535, false), (seen.Status, seen.BodyBytes, seen.IsWhole));
    }

    [Fact]
    public async Task Streams_of_a_connection_that_breaks_are_reported_as_cut()
    {
        Folder.AddSized(1_000_000);
        Http2Wire client = await OpenAsync(opensWindows: false);
        await client.SendAsync([.. Enumerable.Range(0, 5).Select(i => Frame.Headers(1 + (2 * i), Block.Get($"/f1000000.bin?{i}")))]);
        _ = await client.ReadUntilAsync(FrameType.Data);

        client.Wire.Reset();

        var lines = new HashSet<string>();
        for (int i = 0; i < 5; i++)
        {
            SeenExchange seen = await _observer.NextAsync();
            Assert.False(seen.IsWhole);
            Assert.InRange(seen.BodyBytes, 0, 65_535);
            Assert.True(lines.Add(seen.Line));
        }
    }

    private async Task<Http2Wire> OpenAsync(bool opensWindows = true) =>
        await Http2Wire.OpenAsync(await StartAsync(observe: _ => _observer.OnFinished), opensWindows);
}
