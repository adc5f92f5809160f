using Millrace.Quic.Connections;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Http3;

/// <summary>What clients of HTTP/3 must not send, and the code that ends the connection or the stream.</summary>
public class ErrorTests
{
    private static readonly byte[] Get = Http3Bytes.Request("GET", "/file");

    public static TheoryData<string, long, byte[]> RequestStreams => new()
    {
        { "DATA before HEADERS", Http3Codes.FrameUnexpected, Http3Bytes.Data(1, 2, 3) },
        { "SETTINGS", Http3Codes.FrameUnexpected, Http3Bytes.Settings() },
        { "GOAWAY", Http3Codes.FrameUnexpected, Http3Bytes.GoAway(0) },
        { "MAX_PUSH_ID", Http3Codes.FrameUnexpected, Http3Bytes.MaxPushId(1) },
        { "CANCEL_PUSH", Http3Codes.FrameUnexpected, Http3Bytes.CancelPush(0) },
        { "PUSH_PROMISE", Http3Codes.FrameUnexpected, Http3Bytes.Frame(Http3Bytes.PushPromiseType, 0, 0, 0, 0xD1) },
        { "PRIORITY of HTTP/2", Http3Codes.FrameUnexpected, Http3Bytes.Frame(0x02, 1, 2, 3, 4, 5) },
        { "a frame after trailers", Http3Codes.FrameUnexpected, [.. Get, .. Http3Bytes.Headers(("a", "b")), .. Http3Bytes.Data(1)] },
        { "a cut HEADERS frame", Http3Codes.FrameError, Http3Bytes.FrameHeader(Http3Bytes.HeadersType, 100) },
        { "an entry of the static table that is not there", Http3Codes.DecompressionFailed, Http3Bytes.Frame(1, 0, 0, 0xFF, 0xFF, 0x01) },
        { "a cut field section", Http3Codes.DecompressionFailed, Http3Bytes.Frame(1, 0, 0, 0x51, 0x0A, 0x2F) },
    };

    public static TheoryData<string, long, byte[]> UnidirectionalStreams => new()
    {
        { "a second control stream", Http3Codes.StreamCreationError, [0x00, .. Http3Bytes.Settings()] },
        { "a second encoder stream", Http3Codes.StreamCreationError, [0x02] },
        { "a second decoder stream", Http3Codes.StreamCreationError, [0x03] },
        { "a push stream of a client", Http3Codes.StreamCreationError, [0x01, 0x00] },
    };

    public static TheoryData<string, long, byte[]> ControlStreams => new()
    {
        { "a second SETTINGS", Http3Codes.FrameUnexpected, Http3Bytes.Settings() },
        { "DATA", Http3Codes.FrameUnexpected, Http3Bytes.Data(1) },
        { "HEADERS", Http3Codes.FrameUnexpected, Get },
        { "PING of HTTP/2", Http3Codes.FrameUnexpected, Http3Bytes.Frame(0x06, 0, 0, 0, 0, 0, 0, 0, 0) },
        { "a push id that falls", Http3Codes.IdError, [.. Http3Bytes.MaxPushId(9), .. Http3Bytes.MaxPushId(8)] },
        { "a GOAWAY that is too long", Http3Codes.FrameError, Http3Bytes.Frame(Http3Bytes.GoAwayType, 0, 0) },
        { "a GOAWAY that rises", Http3Codes.IdError, [.. Http3Bytes.GoAway(0), .. Http3Bytes.GoAway(4)] },
    };

    public static TheoryData<string, byte[]> Messages => new()
    {
        { "no method", Http3Bytes.Headers((":scheme", "https"), (":authority", "localhost"), (":path", "/file")) },
        { "no path", Http3Bytes.Headers((":method", "GET"), (":scheme", "https"), (":authority", "localhost")) },
        { "two paths", Http3Bytes.Request("GET", "/file", ":path: /file") },
        { "a pseudo-header of responses", Http3Bytes.Request("GET", "/file", ":status: 200") },
        { "a pseudo-header after a field", Http3Bytes.Headers((":method", "GET"), ("a", "b"), (":scheme", "https"), (":path", "/file")) },
        { "a name in upper case", Http3Bytes.Request("GET", "/file", "Accept: text/html") },
        { "a field of connections", Http3Bytes.Request("GET", "/file", "connection: close") },
        { "a coding of transfers", Http3Bytes.Request("GET", "/file", "transfer-encoding: chunked") },
        { "less content than its length", [.. Http3Bytes.Request("POST", "/file", "content-length: 5"), .. Http3Bytes.Data(1, 2)] },
        { "more content than its length", [.. Http3Bytes.Request("POST", "/file", "content-length: 1"), .. Http3Bytes.Data(1, 2)] },
    };

    [Theory]
    [MemberData(nameof(RequestStreams))]
    [Trait("Rfc", "9114-7.2")]
    public async Task A_request_stream_with_what_does_not_belong_there_ends_the_connection(string what, long code, byte[] bytes)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        await connection.SendAsync(bytes);
        await AssertClosedAsync(connection, code, what);
    }

    [Theory]
    [MemberData(nameof(UnidirectionalStreams))]
    [Trait("Rfc", "9114-6.2")]
    public async Task A_stream_that_must_not_be_opened_ends_the_connection(string what, long code, byte[] bytes)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        await connection.SendAsync(bytes, isEnd: false, isBidirectional: false);
        await AssertClosedAsync(connection, code, what);
    }

    [Theory]
    [MemberData(nameof(ControlStreams))]
    [Trait("Rfc", "9114-7.2")]
    public async Task A_control_stream_with_what_does_not_belong_there_ends_the_connection(string what, long code, byte[] bytes)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        await connection.Control!.WriteAsync(bytes);
        await AssertClosedAsync(connection, code, what);
    }

    [Theory]
    [InlineData(Http3Bytes.DataType)]
    [InlineData(Http3Bytes.GoAwayType)]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task A_control_stream_that_does_not_begin_with_settings_ends_the_connection(long type)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port, new Http3TestOptions { OpensStreams = false });
        await connection.SendAsync((byte[])[0x00, .. Http3Bytes.Frame(type, 0)], isEnd: false, isBidirectional: false);
        await AssertClosedAsync(connection, Http3Codes.MissingSettings, "");
    }

    [Theory]
    [InlineData(0x02)]
    [InlineData(0x03)]
    [InlineData(0x04)]
    [InlineData(0x05)]
    [Trait("Rfc", "9114-7.2.4.1")]
    public async Task A_setting_of_http2_ends_the_connection(long id)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port, new Http3TestOptions { Settings = [(id, 1)] });
        await AssertClosedAsync(connection, Http3Codes.SettingsError, "");
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task A_critical_stream_that_ends_or_is_reset_ends_the_connection()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        await connection.Control!.FinishAsync();
        await AssertClosedAsync(connection, Http3Codes.ClosedCriticalStream, "the control stream ends");
        connection = await client.ConnectAsync(site.Port);
        connection.Control!.Abort();
        await AssertClosedAsync(connection, Http3Codes.ClosedCriticalStream, "the control stream is reset");
        connection = await client.ConnectAsync(site.Port);
        await connection.Encoder!.FinishAsync();
        await AssertClosedAsync(connection, Http3Codes.ClosedCriticalStream, "the encoder stream ends");
    }

    [Theory]
    [MemberData(nameof(Messages))]
    [Trait("Rfc", "9114-4.1.2")]
    public async Task A_message_that_is_malformed_ends_its_stream_alone(string what, byte[] bytes)
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Http3TestStream stream = await connection.SendAsync(bytes);
        try
        {
            // A response of 400 may be sent before.
            Assert.Equal("400", (await stream.ReadResponseAsync()).Status);
        }
        catch (Http3TestException reset) when (reset.StreamCode is not null)
        {
            Assert.True(reset.StreamCode == Http3Codes.MessageError, $"{what}: {reset.StreamCode:x}");
        }

        Assert.Equal("200", (await connection.GetAsync("/file")).Status);
    }

    [Fact]
    [Trait("Rfc", "9114-9")]
    public async Task Frames_streams_and_settings_that_are_not_known_are_ignored()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port, new Http3TestOptions { Settings = [(0x21, 7), (0x1F40, 0)] });
        await connection.SendAsync((byte[])[.. Http3Bytes.Number(0x21 + 0x1F), 1, 2, 3], isBidirectional: false);
        await connection.Control!.WriteAsync((byte[])[.. Http3Bytes.Grease(), .. Http3Bytes.PriorityUpdate(0, "u=1"), .. Http3Bytes.MaxPushId(3)]);
        Http3TestStream stream = await connection.SendAsync((byte[])[.. Http3Bytes.Grease(1), .. Get, .. Http3Bytes.Grease(2, 20_000)]);
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1.1")]
    public async Task A_request_that_arrives_byte_by_byte_is_answered()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Http3TestStream stream = await connection.OpenAsync();
        foreach (byte one in Get)
        {
            await stream.WriteAsync(new byte[] { one });
        }

        await stream.FinishAsync();
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
    }

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task A_request_without_its_end_is_incomplete()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        Http3TestStream stream = await connection.OpenAsync();
        await stream.FinishAsync();
        Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(() => stream.ReadToEndAsync());
        Assert.Equal(Http3Codes.RequestIncomplete, reset.StreamCode);
        Assert.Equal("200", (await connection.GetAsync("/file")).Status);
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    public async Task Fields_of_a_dynamic_table_are_known_or_refused()
    {
        await using Http3Site site = await StartAsync();
        using Http3TestClient client = site.CreateClient();
        Http3TestConnection connection = await client.ConnectAsync(site.Port);
        IReadOnlyList<(long Id, long Value)> settings = await connection.ServerSettings;
        long capacity = settings.FirstOrDefault(static setting => setting.Id == Http3Bytes.TableCapacitySetting).Value;
        if (capacity == 0)
        {
            await connection.Encoder!.WriteAsync(QpackFields.Capacity(100));
            await AssertClosedAsync(connection, Http3Codes.EncoderStreamError, "a table beyond the limit");
            return;
        }

        // The path comes from the table: required insert count 1, base 1.
        await connection.Encoder!.WriteAsync((byte[])[.. QpackFields.Capacity(capacity), .. QpackFields.Insert(":path", "/file")]);
        byte[] section = [2, 0, 0xD1, 0xD7, 0x50, 9, .. "localhost"u8, 0x80];
        Http3TestStream stream = await connection.SendAsync(Http3Bytes.Frame(Http3Bytes.HeadersType, section));
        Assert.Equal("200", (await stream.ReadResponseAsync()).Status);
        connection = await client.ConnectAsync(site.Port);
        await connection.Encoder!.WriteAsync(QpackFields.Capacity(capacity + 1));
        await AssertClosedAsync(connection, Http3Codes.EncoderStreamError, "a table beyond the limit");
    }

    private static Task<Http3Site> StartAsync() =>
        Http3Site.StartAsync(static folder => folder.WriteText("file", "text"), "--reactors", "1");

    private static async Task AssertClosedAsync(Http3TestConnection connection, long code, string what)
    {
        CloseReason reason = await connection.Closed;
        Assert.True(
            reason is { Source: CloseSource.Peer, IsApplication: true } && reason.Code == code,
            $"{what}: {code:x} was expected, and the connection ended with {reason}");
    }
}
