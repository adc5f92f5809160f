using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>RFC 9113, section 4.</summary>
public class FrameTests : Http2Test
{
    [Fact]
    public Task Frames_of_an_unknown_type_are_ignored() =>
        AssertIgnoresAsync(Frame.Bytes((FrameType)0x77, (FrameFlags)0xFF, 5, 1, 2, 3), Frame.Bytes((FrameType)0xF0, 0, 0));

    [Fact]
    public Task The_reserved_bit_of_a_stream_is_ignored()
    {
        byte[] headers = Frame.Headers(1, Block.Get("/none"));
        headers[5] |= 0x80;
        return AssertIgnoresAsync(headers);
    }

    [Fact]
    public Task Flags_that_mean_nothing_are_ignored() =>
        AssertIgnoresAsync(
            Frame.Ping(new byte[8], (FrameFlags)0xFE),
            Frame.Bytes(FrameType.WindowUpdate, (FrameFlags)0xFF, 0, 0, 0, 0, 1),
            Frame.Headers(1, Block.Get("/none"), FrameFlags.EndHeaders | FrameFlags.EndStream | (FrameFlags)0x42));

    [Fact]
    public Task A_frame_beyond_the_largest_size_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Bytes((FrameType)0x77, 0, 0, new byte[16_385]));

    [Fact]
    public async Task A_frame_too_large_is_refused_before_all_of_it_has_come()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Bytes(FrameType.Data, 0, 1, new byte[16_385])[..9]);
        await client.AssertFailsAsync(Http2Error.FrameSizeError);
    }

    [Fact]
    public Task A_frame_of_the_largest_size_is_taken() => AssertIgnoresAsync(Frame.Bytes((FrameType)0x77, 0, 0, new byte[16_384]));

    [Fact]
    public Task A_field_block_that_cannot_be_decoded_is_a_COMPRESSION_ERROR() =>
        AssertFailsAsync(Http2Error.CompressionError, Frame.Headers(1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]));

    [Fact]
    public Task So_is_one_whose_request_is_refused_anyway() =>
        AssertFailsAsync(
            Http2Error.CompressionError,
            Frame.Headers(1, Block.Get(Small)),
            Frame.Headers(3, [.. Block.Of((":nonsense", "")), 0x80]));

    [Fact]
    public Task A_field_block_that_another_frame_interrupts_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(
            Http2Error.ProtocolError,
            Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream),
            Frame.Ping(new byte[8]),
            Frame.Continuation(1, []));

    [Fact]
    public Task A_field_block_that_an_unknown_frame_interrupts_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(
            Http2Error.ProtocolError, Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream), Frame.Bytes((FrameType)0x77, 0, 1));

    /// <summary>Whatever else is wrong with it, and even if it is of no size that its type has (section 6.10).</summary>
    [Theory]
    [InlineData(FrameType.Data, 1, 0)]
    [InlineData(FrameType.Headers, 1, 1)]
    [InlineData(FrameType.Headers, 3, 0)]
    [InlineData(FrameType.Priority, 1, 5)]
    [InlineData(FrameType.Priority, 1, 4)]
    [InlineData(FrameType.Priority, 3, 4)]
    [InlineData(FrameType.RstStream, 1, 4)]
    [InlineData(FrameType.RstStream, 1, 3)]
    [InlineData(FrameType.Settings, 0, 0)]
    [InlineData(FrameType.Settings, 0, 5)]
    [InlineData(FrameType.PushPromise, 1, 4)]
    [InlineData(FrameType.Ping, 0, 7)]
    [InlineData(FrameType.GoAway, 0, 7)]
    [InlineData(FrameType.WindowUpdate, 1, 4)]
    [InlineData(FrameType.WindowUpdate, 1, 3)]
    [InlineData(FrameType.WindowUpdate, 0, 5)]
    [InlineData(FrameType.PriorityUpdate, 0, 3)]
    [InlineData((FrameType)0x77, 0, 16_385)]
    internal Task A_field_block_that_any_other_frame_interrupts_is_a_PROTOCOL_ERROR(FrameType type, int streamId, int bytes) =>
        AssertFailsAsync(
            Http2Error.ProtocolError,
            Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream),
            Frame.Bytes(type, FrameFlags.Padded | FrameFlags.Priority, streamId, new byte[bytes]));

    [Fact]
    public Task A_field_block_that_goes_on_beyond_the_largest_size_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(
            Http2Error.FrameSizeError,
            Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream),
            Frame.Continuation(1, new byte[16_385]));

    [Fact]
    public Task A_field_block_that_goes_on_for_another_stream_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream), Frame.Continuation(3, []));

    [Fact]
    public async Task A_field_block_may_be_split_anywhere()
    {
        Http2Wire client = await OpenAsync();
        byte[] block = Block.Get(Small);
        for (int at = 0; at <= block.Length; at++)
        {
            int streamId = (2 * at) + 1;
            await client.SendAsync(
                Frame.Headers(streamId, block.AsSpan(0, at), FrameFlags.EndStream),
                Frame.Continuation(streamId, [], FrameFlags.None),
                Frame.Continuation(streamId, block.AsSpan(at)));
            (await client.ReadResponseAsync(streamId)).AssertIsWhole(SiteFolder.Bytes(1000));
        }
    }

    [Fact]
    public async Task The_table_stays_in_step_through_requests_that_are_refused()
    {
        Http2Wire client = await OpenAsync();

        // Malformed, and its field is the newest of the dynamic table nevertheless: index 62.
        await client.SendAsync(Frame.Headers(1, [.. Block.Of((":method", "GET")), .. Block.Indexed("if-none-match", "*")]));
        Assert.Equal(Http2Error.ProtocolError, (await client.ReadAsync(1)).Reset);
        await client.SendAsync(Frame.Headers(3, [.. Block.Get(Small), 0x80 | 62]));

        Assert.Equal(304, (await client.ReadResponseAsync(3)).Status);
    }

    [Fact]
    public async Task The_table_stays_in_step_through_trailers_and_streams_that_are_gone()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders),
            Frame.Headers(1, Block.Indexed("range", "bytes=0-0")));
        Assert.Equal(405, (await client.ReadResponseAsync(1)).Status);
        await client.SendAsync(Frame.Headers(3, [.. Block.Get(Small), 0x80 | 62]));

        Assert.Equal(206, (await client.ReadResponseAsync(3)).Status);
    }

    [Fact]
    public async Task A_client_that_wants_a_smaller_table_learns_that_none_is_used()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site, true, 0, (SettingId.HeaderTableSize, 100u));
        await client.SendAsync(Frame.Headers(1, Block.Get(Small)));
        Frame head = await client.ReadUntilAsync(FrameType.Headers);

        // A size update to 0 (RFC 7541, section 6.3), and only once.
        Assert.Equal(0x20, head.Payload[0]);
        await client.TakeAsync(head);
        await client.ReadAsync(1);
        await client.SendAsync(Frame.Headers(3, Block.Get(Small)));
        Assert.Equal(0x88, (await client.ReadUntilAsync(FrameType.Headers)).Payload[0]);
    }
}
