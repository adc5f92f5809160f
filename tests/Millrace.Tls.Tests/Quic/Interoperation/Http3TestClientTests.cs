using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>The client that other suites test our servers with, against a server that is not ours.</summary>
public sealed class Http3TestClientTests : InteroperationTest
{
    private const int Megabyte = 1024 * 1024;

    private readonly TemporaryFolder _folder = new();

    public Http3TestClientTests()
    {
        Keep(_folder);
        RequirePrograms();
    }

    [Fact]
    public async Task A_response_has_its_status_fields_and_content()
    {
        Http3TestConnection connection = await ConnectAsync();
        byte[] content = Write("page.html", 100_000);
        Http3TestResponse response = await connection.GetAsync("/page.html");
        Assert.Equal("200", response.Status);
        Assert.Equal("100000", response["content-length"]);
        Assert.Equal("text/html", response["content-type"]);
        Assert.StartsWith("nghttp3/ngtcp2", response["server"], StringComparison.Ordinal);
        Assert.Equal(content, response.Content);
        Assert.Equal("404", (await connection.GetAsync("/none")).Status);
    }

    [Fact]
    public async Task The_servers_settings_and_streams_are_known()
    {
        Http3TestConnection connection = await ConnectAsync();
        IReadOnlyList<(long Id, long Value)> settings = await connection.ServerSettings;
        Assert.Contains(settings, static setting => setting.Id == Http3Bytes.TableCapacitySetting);
        Assert.Contains(Http3Bytes.ControlStream, connection.StreamTypes);
    }

    /// <summary>ngtcp2's server uses its table for the fields that it repeats.</summary>
    [Fact]
    public async Task A_dynamic_table_of_the_server_is_followed()
    {
        Http3TestConnection connection = await ConnectAsync();
        Write("page.html", 100);
        for (int i = 0; i < 20; i++)
        {
            Http3TestResponse response = await connection.GetAsync("/page.html");
            Assert.Equal("text/html", response["content-type"]);
        }

        TestContext.Current.TestOutputHelper!.WriteLine($"Insertions used: {connection.MostRequiredInsertions}");
    }

    [Fact]
    public async Task More_requests_than_the_server_allows_at_a_time_are_answered()
    {
        Http3TestConnection connection = await ConnectAsync("--max-streams-bidi=10");
        byte[] content = Write("file", 10_000);
        Http3TestResponse[] responses = await Task.WhenAll(Enumerable.Range(0, 100).Select(_ => connection.GetAsync("/file")));
        Assert.All(responses, response => Assert.Equal(content, response.Content));
    }

    [Fact]
    public async Task Content_of_a_request_is_sent_as_the_server_reads_it()
    {
        Http3TestConnection connection = await ConnectAsync();
        Write("file", 10);
        Http3TestResponse response = await connection.AskAsync("POST", "/file", [], new byte[3 * Megabyte]);
        Assert.Equal("200", response.Status);
    }

    /// <summary>The server can send no more than the windows, until the test reads.</summary>
    [Fact]
    public async Task A_server_waits_for_a_reader_that_reads_nothing()
    {
        Http3TestConnection connection = await ConnectAsync();
        byte[] content = Write("file", 4 * Megabyte);
        Http3TestStream stream = await connection.SendAsync(Http3Bytes.Request("GET", "/file"));
        Assert.Equal("200", (await stream.ReadHeadAsync())![0].Value);
        Assert.Equal("404", (await connection.GetAsync("/none")).Status);
        long received = await connection.InspectAsync(static quic => quic.Streams.Flow.Receive.Received);
        Assert.InRange(received, 1, Megabyte);
        using var all = new MemoryStream();
        while (await stream.ReadDataAsync() is { } piece)
        {
            all.Write(piece);
        }

        Assert.Equal(content, all.ToArray());
    }

    [Fact]
    public async Task What_is_not_http3_is_sent_as_it_is()
    {
        Http3TestConnection connection = await ConnectAsync();

        // SETTINGS on a request stream.
        await connection.SendAsync(Http3Bytes.Settings());
        CloseReason reason = await connection.Closed;
        Assert.Equal((CloseSource.Peer, Http3Codes.FrameUnexpected), (reason.Source, reason.Code));
        await Assert.ThrowsAsync<Http3TestException>(() => connection.GetAsync("/file"));
    }

    [Fact]
    public async Task A_stream_that_is_reset_does_not_disturb_others()
    {
        Http3TestConnection connection = await ConnectAsync();
        byte[] content = Write("file", Megabyte);
        Http3TestStream stream = await connection.SendAsync(Http3Bytes.Request("GET", "/file"), isEnd: false);
        stream.Abort();
        stream.StopSending();
        Assert.Equal(content, (await connection.GetAsync("/file")).Content);
    }

    [Fact]
    public async Task A_control_stream_that_ends_is_an_error_to_the_server()
    {
        Http3TestConnection connection = await ConnectAsync();
        await connection.Control!.FinishAsync();
        Assert.Equal(Http3Codes.ClosedCriticalStream, (await connection.Closed).Code);
    }

    private async Task<Http3TestConnection> ConnectAsync(params string[] options)
    {
        NgtcpServer server = await StartServerAsync(_folder.Path, options);
        Http3TestClient client = Keep(new Http3TestClient(server.Authority));
        return await client.ConnectAsync(server.Port);
    }

    private byte[] Write(string file, int length)
    {
        MessageWriter.WriteFile(_folder.File(file), length);
        return File.ReadAllBytes(_folder.File(file));
    }
}
