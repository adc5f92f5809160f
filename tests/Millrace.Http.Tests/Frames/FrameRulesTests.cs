namespace Millrace.Http.Tests;

/// <summary>RFC 9113 sections 4.2 and 6: what is wrong with a frame by its header.</summary>
public class FrameRulesTests
{
    private static Http2Fault Fine => default;
    private static readonly Http2Fault Protocol = Http2Fault.OfConnection(Http2Error.ProtocolError);
    private static readonly Http2Fault FrameSize = Http2Fault.OfConnection(Http2Error.FrameSizeError);

    // Sections 6.1 to 6.4 and 6.10: on stream 0, a connection error of type PROTOCOL_ERROR.
    [Theory]
    [InlineData(FrameType.Data, 1)]
    [InlineData(FrameType.Headers, 1)]
    [InlineData(FrameType.Priority, 5)]
    [InlineData(FrameType.RstStream, 4)]
    [InlineData(FrameType.Continuation, 1)]
    internal void A_frame_of_a_stream_is_refused_on_stream_0(FrameType type, int length)
    {
        Assert.Equal(Protocol, Check(type, length, streamId: 0));
        Assert.Equal(Fine, Check(type, length, streamId: 1));
    }

    // Sections 6.5, 6.7, 6.8; RFC 9218 section 7.1: on another stream than 0, a connection error of type PROTOCOL_ERROR.
    [Theory]
    [InlineData(FrameType.Settings, 6)]
    [InlineData(FrameType.Ping, 8)]
    [InlineData(FrameType.GoAway, 8)]
    [InlineData(FrameType.PriorityUpdate, 4)]
    internal void A_frame_of_the_connection_is_refused_on_a_stream(FrameType type, int length)
    {
        Assert.Equal(Protocol, Check(type, length, streamId: 1));
        Assert.Equal(Fine, Check(type, length, streamId: 0));
    }

    // Sections 6.4, 6.7, 6.8 and 6.9; RFC 9218 section 7.1: another length is a connection error of type FRAME_SIZE_ERROR.
    [Theory]
    [InlineData(FrameType.RstStream, 1, 3)]
    [InlineData(FrameType.RstStream, 1, 5)]
    [InlineData(FrameType.Ping, 0, 7)]
    [InlineData(FrameType.Ping, 0, 9)]
    [InlineData(FrameType.GoAway, 0, 7)]
    [InlineData(FrameType.WindowUpdate, 0, 3)]
    [InlineData(FrameType.WindowUpdate, 1, 5)]
    [InlineData(FrameType.PriorityUpdate, 0, 3)]
    internal void A_frame_of_the_wrong_length_ends_the_connection(FrameType type, int streamId, int length) =>
        Assert.Equal(FrameSize, Check(type, length, streamId));

    // Section 6.3: a PRIORITY frame with a length other than 5 MUST be treated as a stream error of type FRAME_SIZE_ERROR.
    [Theory]
    [InlineData(4)]
    [InlineData(6)]
    public void A_priority_of_the_wrong_length_ends_its_stream(int length) =>
        Assert.Equal(Http2Fault.OfStream(Http2Error.FrameSizeError), Check(FrameType.Priority, length, streamId: 3));

    // Section 6.5: a length other than a multiple of 6 MUST be treated as a connection error of type FRAME_SIZE_ERROR.
    [Theory]
    [InlineData(0, true)]
    [InlineData(6, true)]
    [InlineData(12, true)]
    [InlineData(1, false)]
    [InlineData(5, false)]
    [InlineData(13, false)]
    public void The_length_of_settings_is_a_multiple_of_six(int length, bool isFine) =>
        Assert.Equal(isFine ? Fine : FrameSize, Check(FrameType.Settings, length, streamId: 0));

    // Section 6.5: receipt of a SETTINGS frame with the ACK flag set and a length other than 0: FRAME_SIZE_ERROR.
    [Fact]
    public void An_acknowledgement_of_settings_is_empty()
    {
        Assert.Equal(Fine, Check(FrameType.Settings, 0, streamId: 0, FrameFlags.Ack));
        Assert.Equal(FrameSize, Check(FrameType.Settings, 6, streamId: 0, FrameFlags.Ack));
    }

    // Section 8.4: servers MUST treat the receipt of a PUSH_PROMISE frame as a connection error of type PROTOCOL_ERROR.
    [Fact]
    public void A_client_cannot_push() => Assert.Equal(Protocol, Check(FrameType.PushPromise, 4, streamId: 1));

    // Section 4.2: FRAME_SIZE_ERROR if a frame is too small to contain mandatory frame data.
    [Theory]
    [InlineData(FrameType.Data, FrameFlags.Padded, 1)]
    [InlineData(FrameType.Headers, FrameFlags.Padded, 1)]
    [InlineData(FrameType.Headers, FrameFlags.Priority, 5)]
    [InlineData(FrameType.Headers, FrameFlags.Priority | FrameFlags.Padded, 6)]
    internal void What_the_flags_announce_must_be_there(FrameType type, FrameFlags flags, int length)
    {
        Assert.Equal(Fine, Check(type, length, streamId: 1, flags));
        Assert.Equal(FrameSize, Check(type, length - 1, streamId: 1, flags));
    }

    // Section 4.2: FRAME_SIZE_ERROR if a frame exceeds the size defined in SETTINGS_MAX_FRAME_SIZE.
    [Theory]
    [InlineData(FrameType.Data)]
    [InlineData(FrameType.Headers)]
    [InlineData(FrameType.Continuation)]
    [InlineData((FrameType)0xAB)]
    internal void A_frame_longer_than_the_limit_ends_the_connection(FrameType type)
    {
        var header = new FrameHeader(FrameHeader.DefaultLengthMax, type, FrameFlags.None, 1);
        Assert.Equal(Fine, FrameRules.Check(header, FrameHeader.DefaultLengthMax));
        Assert.Equal(FrameSize, FrameRules.Check(header with { Length = header.Length + 1 }, FrameHeader.DefaultLengthMax));
    }

    // Sections 4.1 and 5.5: frames of unknown types MUST be ignored; flags without a meaning for the type MUST be ignored.
    [Fact]
    public void Unknown_types_and_flags_are_nothing_to_refuse()
    {
        for (int type = 0x0A; type <= 0xFF; type++)
        {
            if (type != (int)FrameType.PriorityUpdate)
            {
                Assert.Equal(Fine, Check((FrameType)type, 0, streamId: type % 3, (FrameFlags)0xFF));
            }
        }

        Assert.Equal(Fine, Check(FrameType.Ping, 8, streamId: 0, (FrameFlags)0xFF));
        Assert.Equal(Fine, Check(FrameType.Continuation, 0, streamId: 1, FrameFlags.Padded | FrameFlags.Priority));
    }

    private static Http2Fault Check(FrameType type, int length, int streamId, FrameFlags flags = FrameFlags.None)
        => FrameRules.Check(new FrameHeader(length, type, flags, streamId));
}
