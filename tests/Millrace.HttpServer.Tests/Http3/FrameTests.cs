using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Frames on the streams of requests (RFC 9114, sections 4.1 and 7).</summary>
public class FrameTests : Http3Test
{
    private static readonly byte[] Get = Http3Bytes.Request("GET", Small);

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public async Task A_request_is_answered_however_its_bytes_come()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] bytes = [.. Http3Bytes.Grease(), .. Http3Bytes.Request("POST", "/none"), .. Http3Bytes.Grease(), .. Http3Bytes.Data(1, 2, 3)];
        Http3TestStream stream = await client.OpenAsync();
        foreach (byte one in bytes)
        {
            await stream.WriteAsync(new[] { one });
            await client.InspectAsync(static quic => quic.Streams.Count);
        }

        await stream.FinishAsync();
        Assert.Equal("405", (await stream.ReadResponseAsync()).Status);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-9")]
    public async Task Frames_of_unknown_types_are_skipped()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] large = Http3Bytes.Grease(7, 100_000);
        Http3TestStream stream = await client.SendAsync((byte[])[.. Http3Bytes.Grease(0, 0), .. large, .. Get, .. large, .. Http3Bytes.Grease()]);
        AssertIsWhole(await stream.ReadResponseAsync(), 1000);
    }

    [Fact]
    [Trait("Rfc", "9114-7.1")]
    public async Task Frames_may_say_their_type_and_length_in_more_bytes_than_are_needed()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] section = QpackFields.Section([.. Http3Bytes.RequestFields("GET", Small)]);
        byte[] bytes = [.. Http3Bytes.Number(Http3Bytes.HeadersType, 8), .. Http3Bytes.Number(section.Length, 8), .. section];
        AssertIsWhole(await (await client.SendAsync(bytes)).ReadResponseAsync(), 1000);
    }

    [Theory]
    [Trait("Rfc", "9114-7.2")]
    [InlineData(Http3Bytes.DataType)]
    [InlineData(Http3Bytes.CancelPushType)]
    [InlineData(Http3Bytes.SettingsType)]
    [InlineData(Http3Bytes.PushPromiseType)]
    [InlineData(Http3Bytes.GoAwayType)]
    [InlineData(Http3Bytes.MaxPushIdType)]
    [InlineData(Http3Bytes.PriorityUpdateType)]
    [InlineData(0x02)]
    [InlineData(0x06)]
    [InlineData(0x08)]
    [InlineData(0x09)]
    public Task A_frame_that_no_request_begins_with_ends_the_connection(long type) =>
        AssertFailsAsync(Http3Codes.FrameUnexpected, Http3Bytes.Frame(type, 0));

    [Theory]
    [Trait("Rfc", "9114-7.2")]
    [InlineData(Http3Bytes.CancelPushType)]
    [InlineData(Http3Bytes.SettingsType)]
    [InlineData(Http3Bytes.PushPromiseType)]
    [InlineData(Http3Bytes.GoAwayType)]
    [InlineData(Http3Bytes.MaxPushIdType)]
    [InlineData(0x02)]
    public Task Nor_may_it_come_after_the_head(long type) =>
        AssertFailsAsync(Http3Codes.FrameUnexpected, [.. Get, .. Http3Bytes.Frame(type, 0)]);

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public Task Nothing_follows_trailers() => AssertFailsAsync(
        Http3Codes.FrameUnexpected,
        [.. Http3Bytes.Request("POST", "/none"), .. Http3Bytes.Data(1), .. Http3Bytes.Headers(("a", "b")), .. Http3Bytes.Data(1)]);

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public Task There_are_no_trailers_after_trailers() => AssertFailsAsync(
        Http3Codes.FrameUnexpected, [.. Get, .. Http3Bytes.Headers(("a", "b")), .. Http3Bytes.Headers(("a", "b"))]);

    [Theory]
    [Trait("Rfc", "9114-7.1")]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(10)]
    public Task A_stream_that_ends_within_its_head_ends_the_connection(int bytes) =>
        AssertFailsAsync(Http3Codes.FrameError, Get[..bytes]);

    [Fact]
    [Trait("Rfc", "9114-7.1")]
    public Task A_stream_that_ends_within_its_body_ends_the_connection() => AssertFailsAsync(
        Http3Codes.FrameError, [.. Http3Bytes.Request("POST", "/none"), .. Http3Bytes.FrameHeader(Http3Bytes.DataType, 10), 1, 2]);

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public Task A_stream_without_a_request_is_reset() => AssertResetsAsync(Http3Codes.RequestIncomplete, []);

    [Fact]
    [Trait("Rfc", "9114-4.1")]
    public Task Nor_is_an_unknown_frame_a_request() => AssertResetsAsync(Http3Codes.RequestIncomplete, Http3Bytes.Grease());

    [Fact]
    public async Task A_field_section_that_is_much_too_large_is_not_read()
    {
        Http3TestConnection client = await OpenAsync();
        await client.SendAsync(Http3Bytes.FrameHeader(Http3Bytes.HeadersType, 1_000_000), isEnd: false);
        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }

    [Fact]
    [Trait("Rfc", "9204-2.2")]
    public Task A_field_section_that_is_not_valid_ends_the_connection() =>
        AssertFailsAsync(Http3Codes.DecompressionFailed, Http3Bytes.Frame(Http3Bytes.HeadersType, 0, 0, 0xFF));

    [Fact]
    [Trait("Rfc", "9204-4.5.1")]
    public Task So_does_one_without_its_prefix() => AssertFailsAsync(Http3Codes.DecompressionFailed, Http3Bytes.Headers()[..1].Append((byte)0).ToArray());
}
