using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>RFC 9113, section 6: what each type of frames must be like.</summary>
public class FrameTypeTests : Http2Test
{
    // 6.1 DATA

    [Fact]
    public Task DATA_without_a_stream_is_a_PROTOCOL_ERROR() => AssertFailsAsync(Http2Error.ProtocolError, Frame.Data(0, [1]));

    [Fact]
    public Task DATA_that_is_all_padding_and_more_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(
            Http2Error.ProtocolError,
            Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders),
            Frame.Data(1, [5, 0, 0, 0, 0], FrameFlags.Padded | FrameFlags.EndStream));

    [Fact]
    public async Task Padding_is_no_part_of_a_body()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/none", "content-length: 2"), FrameFlags.EndHeaders),
            Frame.Data(1, [3, (byte)'a', (byte)'b', 0, 0, 0], FrameFlags.Padded | FrameFlags.EndStream));

        Assert.Equal(405, (await client.ReadResponseAsync(1)).Status);
        await client.SettleAsync();
        Assert.Null(client.Of(1).Reset);
    }

    // 6.2 HEADERS

    [Fact]
    public Task HEADERS_without_a_stream_are_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Headers(0, Block.Get(Small)));

    [Fact]
    public Task HEADERS_whose_padding_is_too_long_are_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(
            Http2Error.ProtocolError,
            Frame.Headers(1, [200, .. Block.Get(Small)], FrameFlags.Padded | FrameFlags.EndHeaders | FrameFlags.EndStream));

    [Fact]
    public async Task Padding_and_priority_of_HEADERS_are_passed_over()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(
            1,
            [4, 0, 0, 0, 0, 16, .. Block.Get(Small), 0, 0, 0, 0],
            FrameFlags.Padded | FrameFlags.Priority | FrameFlags.EndHeaders | FrameFlags.EndStream));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    // 6.3 PRIORITY

    [Fact]
    public Task PRIORITY_without_a_stream_is_a_PROTOCOL_ERROR() => AssertFailsAsync(Http2Error.ProtocolError, Frame.Priority(0));

    [Fact]
    public Task PRIORITY_of_another_length_than_5_spoils_its_stream() =>
        AssertResetsAsync(
            1, Http2Error.FrameSizeError, Frame.Headers(1, Block.Get(Large)), Frame.Bytes(FrameType.Priority, 0, 1, 0, 0, 0, 0));

    // 6.4 RST_STREAM

    [Fact]
    public Task RST_STREAM_without_a_stream_is_a_PROTOCOL_ERROR() => AssertFailsAsync(Http2Error.ProtocolError, Frame.Reset(0));

    [Fact]
    public Task RST_STREAM_of_another_length_than_4_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(
            Http2Error.FrameSizeError, Frame.Headers(1, Block.Get(Large)), Frame.Bytes(FrameType.RstStream, 0, 1, 0, 0, 0));

    // 6.5 SETTINGS

    [Fact]
    public Task SETTINGS_on_a_stream_are_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Bytes(FrameType.Settings, 0, 1));

    [Fact]
    public Task An_acknowledgement_with_a_payload_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Bytes(FrameType.Settings, FrameFlags.Ack, 0, 0, 1, 0, 0, 0, 0));

    [Fact]
    public Task SETTINGS_of_a_length_that_is_no_multiple_of_6_are_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Bytes(FrameType.Settings, 0, 0, 0, 1, 0, 0, 0));

    [Fact]
    public Task ENABLE_PUSH_other_than_0_and_1_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Settings((SettingId.EnablePush, 2u)));

    [Fact]
    public Task INITIAL_WINDOW_SIZE_beyond_31_bits_is_a_FLOW_CONTROL_ERROR() =>
        AssertFailsAsync(Http2Error.FlowControlError, Frame.Settings((SettingId.InitialWindowSize, 0x8000_0000)));

    [Fact]
    public Task MAX_FRAME_SIZE_below_16384_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Settings((SettingId.MaxFrameSize, 16_383u)));

    [Fact]
    public Task MAX_FRAME_SIZE_beyond_24_bits_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Settings((SettingId.MaxFrameSize, 1u << 24)));

    [Fact]
    public Task Unknown_settings_are_ignored() => AssertIgnoresAsync(Frame.Settings(((SettingId)0xABCD, uint.MaxValue)));

    [Fact]
    public async Task Every_SETTINGS_frame_is_acknowledged()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Settings(), Frame.Settings((SettingId.EnablePush, 0u)), Frame.Ping(new byte[8]));

        Assert.True((await client.ReadFrameAsync()) is { Type: FrameType.Settings, IsAck: true, Payload: [] });
        Assert.True((await client.ReadFrameAsync()) is { Type: FrameType.Settings, IsAck: true, Payload: [] });
        Assert.Equal(FrameType.Ping, (await client.ReadFrameAsync()).Type);
    }

    [Fact]
    public async Task Settings_that_are_not_acknowledged_in_time_end_the_connection()
    {
        var limits = new HttpServerLimits { Http2 = new Http2Limits { SettingsAck = TimeSpan.FromMilliseconds(150) } };
        var client = new Http2Wire(await (await StartAsync(limits: limits)).ConnectAsync());
        await client.Wire.SendAsync(Http2Wire.Preface);
        await client.SendAsync(Frame.Settings());

        await client.AssertFailsAsync(Http2Error.SettingsTimeout);
    }

    // 6.6 PUSH_PROMISE

    [Fact]
    public Task PUSH_PROMISE_is_not_a_clients_to_send() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Bytes(FrameType.PushPromise, FrameFlags.EndHeaders, 1, 0, 0, 0, 2));

    // 6.7 PING

    [Fact]
    public async Task A_PING_comes_back_with_its_payload()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Ping("12345678"u8));
        Frame ack = await client.ReadFrameAsync();

        Assert.Equal((FrameType.Ping, FrameFlags.Ack, 0), (ack.Type, ack.Flags, ack.StreamId));
        Assert.Equal("12345678"u8.ToArray(), ack.Payload);
    }

    [Fact]
    public async Task The_acknowledgement_of_a_PING_is_not_answered()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Ping("unasked "u8, FrameFlags.Ack), Frame.Ping("asked   "u8));

        Assert.Equal("asked   "u8.ToArray(), (await client.ReadFrameAsync()).Payload);
    }

    [Fact]
    public Task PING_on_a_stream_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Bytes(FrameType.Ping, 0, 1, new byte[8]));

    [Fact]
    public Task PING_of_another_length_than_8_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Ping(new byte[7]));

    // 6.8 GOAWAY

    [Fact]
    public Task GOAWAY_on_a_stream_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Bytes(FrameType.GoAway, 0, 1, new byte[8]));

    [Fact]
    public Task GOAWAY_that_is_too_short_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Bytes(FrameType.GoAway, 0, 0, new byte[7]));

    [Fact]
    public async Task What_a_client_that_goes_away_has_asked_for_is_answered()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)), Frame.GoAway(0, Http2Error.NoError));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    // 6.9 WINDOW_UPDATE

    [Fact]
    public Task WINDOW_UPDATE_of_another_length_than_4_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Bytes(FrameType.WindowUpdate, 0, 0, 0, 0, 1));

    [Fact]
    public Task WINDOW_UPDATE_by_nothing_for_the_connection_is_an_error_of_it() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.WindowUpdate(0, 0));

    [Fact]
    public Task WINDOW_UPDATE_by_nothing_for_a_stream_is_an_error_of_it() =>
        AssertResetsAsync(1, Http2Error.ProtocolError, Frame.Headers(1, Block.Get(Large)), Frame.WindowUpdate(1, 0));

    [Fact]
    public Task A_window_of_the_connection_may_have_31_bits() => AssertIgnoresAsync(Frame.WindowUpdate(0, int.MaxValue - 65_535));

    [Fact]
    public Task A_window_of_the_connection_beyond_31_bits_is_a_FLOW_CONTROL_ERROR() =>
        AssertFailsAsync(Http2Error.FlowControlError, Frame.WindowUpdate(0, int.MaxValue));

    [Fact]
    public Task A_window_of_a_stream_beyond_31_bits_is_a_FLOW_CONTROL_ERROR_of_it() =>
        AssertResetsAsync(1, Http2Error.FlowControlError, Frame.Headers(1, Block.Get(Large)), Frame.WindowUpdate(1, int.MaxValue));

    [Fact]
    public Task A_window_that_settings_make_too_large_is_a_FLOW_CONTROL_ERROR() =>
        AssertFailsAsync(
            Http2Error.FlowControlError,
            Frame.Settings((SettingId.InitialWindowSize, 0u)),
            Frame.Headers(1, Block.Get(Large)),
            Frame.WindowUpdate(1, int.MaxValue),
            Frame.Settings((SettingId.InitialWindowSize, 1u)));

    // 6.10 CONTINUATION

    [Fact]
    public Task CONTINUATION_without_a_stream_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream), Frame.Continuation(0, []));

    [Fact]
    public Task CONTINUATION_after_a_whole_block_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Headers(1, Block.Get(Large)), Frame.Continuation(1, []));

    // RFC 9218, section 7.1: PRIORITY_UPDATE

    [Fact]
    public Task PRIORITY_UPDATE_on_a_stream_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Bytes(FrameType.PriorityUpdate, 0, 1, 0, 0, 0, 1));

    [Fact]
    public Task PRIORITY_UPDATE_about_the_connection_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.PriorityUpdate(0, "u=1"));

    [Fact]
    public Task PRIORITY_UPDATE_that_is_too_short_is_a_FRAME_SIZE_ERROR() =>
        AssertFailsAsync(Http2Error.FrameSizeError, Frame.Bytes(FrameType.PriorityUpdate, 0, 0, 0, 0, 1));

    [Fact]
    public Task PRIORITY_UPDATE_about_a_stream_of_ours_is_a_PROTOCOL_ERROR() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.PriorityUpdate(2, "u=1"));
}
