using Millrace.Http;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>What is recorded of requests over HTTP/3, for logs and metrics.</summary>
public class ExchangeTests : SiteFixture
{
    private readonly RecordingObserver _observer = new();

    public ExchangeTests() => CarriesHttps = static _ => true;

    [Fact]
    public async Task A_request_is_reported_with_what_it_said_and_what_it_got()
    {
        Folder.AddSized(1000);
        Http3TestConnection client = await OpenAsync();

        _ = await client.GetAsync("/f1000.bin?a", "referer: r", "user-agent: u", "x-forwarded-for: 1.2.3.4");

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal(("GET /f1000.bin?a", "r", "u", "1.2.3.4"), (seen.Line, seen.Referer, seen.UserAgent, seen.ForwardedFor));
        Assert.Equal((HttpVersion.Http3, 200, 1000, true), (seen.Protocol, seen.Status, seen.BodyBytes, seen.IsWhole));
        Assert.NotEqual("", seen.Host);
        Assert.NotNull(seen.Peer);
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
        Http3TestConnection client = await OpenAsync();

        Http3TestResponse response = await client.GetAsync(SiteFolder.Target(size), field);

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal($"{status}", response.Status);
        Assert.Equal((status, (long)response.Content.Length, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
        Assert.Equal(body, seen.Body.ToString());
    }

    [Fact]
    public async Task A_response_that_its_client_refuses_is_reported_with_what_was_sent_of_it()
    {
        Folder.AddSized(5_000_000);
        Http3TestConnection client = await OpenAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/f5000000.bin"));
        await stream.ReadHeadAsync();
        await stream.ReadDataAsync();

        stream.StopSending();

        SeenExchange seen = await _observer.NextAsync();
        Assert.Equal((200, false), (seen.Status, seen.IsWhole));
        Assert.InRange(seen.BodyBytes, 1, 4_999_999);
    }

    [Fact]
    public async Task Responses_of_a_connection_that_ends_are_reported_as_cut()
    {
        Folder.AddSized(5_000_000);
        Http3TestConnection client = await OpenAsync();
        var streams = new List<Http3TestStream>();
        for (int i = 0; i < 5; i++)
        {
            streams.Add(await client.SendAsync(Http3Bytes.Request("GET", $"/f5000000.bin?{i}")));
        }

        await streams[0].ReadHeadAsync();
        client.Close();

        var lines = new HashSet<string>();
        for (int i = 0; i < 5; i++)
        {
            SeenExchange seen = await _observer.NextAsync();
            Assert.False(seen.IsWhole);
            Assert.InRange(seen.BodyBytes, 0, 4_999_999);
            Assert.True(lines.Add(seen.Line));
        }
    }

    /// <summary>As of a tool that closes once it has the last byte: the response was sent whole.</summary>
    [Fact]
    public async Task A_response_whose_client_closes_the_connection_at_once_is_whole()
    {
        Folder.AddSized(1000);
        for (int i = 0; i < 10; i++)
        {
            Http3TestConnection client = await OpenAsync();
            _ = await client.GetAsync("/f1000.bin");
            client.Close();
            SeenExchange seen = await _observer.NextAsync();
            Assert.Equal((200, 1000, true), (seen.Status, seen.BodyBytes, seen.IsWhole));
        }
    }

    /// <summary>The entries come with the reset, before the client can have acknowledged that of the server.</summary>
    [Fact]
    [Trait("Rfc", "9204-2.2.2.2")]
    public async Task A_request_that_was_given_up_while_it_waited_for_entries_is_not_served()
    {
        Folder.AddSized(1000);
        Http3TestConnection client = await OpenAsync();
        byte[] fields = QpackFields.Section((":method", "GET"), (":scheme", "https"), (":authority", "localhost"))[2..];
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Frame(Http3Bytes.HeadersType, [2, 0, .. fields, 0x80]), isEnd: false);
        _ = await client.GetAsync("/f1000.bin?first");
        client.Post(() =>
        {
            stream.Abort();
            client.Encoder!.Write([.. QpackFields.Capacity(4096), .. QpackFields.Insert(":path", "/f1000.bin?given-up")]);
        });
        await stream.Closed;
        _ = await client.GetAsync("/f1000.bin?last");
        Assert.Equal("GET /f1000.bin?first", (await _observer.NextAsync()).Line);
        Assert.Equal("GET /f1000.bin?last", (await _observer.NextAsync()).Line);
    }

    private async Task<Http3TestConnection> OpenAsync()
    {
        RunningSite site = await StartAsync(observe: _ => _observer.OnFinished);
        return await (await site.ListenHttp3Async()).ConnectAsync();
    }
}
