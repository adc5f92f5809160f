namespace Millrace.Http.Tests;

/// <summary>RFC 9113 section 6: payloads.</summary>
public class FramePayloadTests
{
    private static readonly Http2Fault Protocol = Http2Fault.OfConnection(Http2Error.ProtocolError);

    [Fact]
    public void Data_without_padding_is_all_of_the_payload() => Assert.Equal("abc", Data("abc", FrameFlags.EndStream));

    // Section 6.1.
    [Theory]
    [InlineData("\u0000abc", "abc")]
    [InlineData("\u0002abc\0\0", "abc")]
    [InlineData("\u0003\0\0\0", "")]
    [InlineData("\u0000", "")]
    public void Padding_is_taken_off_data(string payload, string data) => Assert.Equal(data, Data(payload, FrameFlags.Padded));

    // Section 6.1: padding as long as the payload or longer MUST be treated as a connection error of type PROTOCOL_ERROR.
    [Theory]
    [InlineData("\u0001")]
    [InlineData("\u0004abc")]
    [InlineData("\u00FFabc")]
    public void Padding_that_leaves_no_room_for_its_length_is_refused(string payload)
    {
        byte[] bytes = Latin1.Bytes(payload);
        FrameHeader header = Header(FrameType.Data, bytes, FrameFlags.Padded, streamId: 1);
        Assert.False(FramePayload.TryUnpad(header, bytes, out _, out Http2Fault fault));
        Assert.Equal(Protocol, fault);
    }

    // Section 6.2; 5.3.2: the priority fields are ignored, even those of a stream that depends on itself.
    [Theory]
    [InlineData("abc", FrameFlags.EndHeaders, "abc")]
    [InlineData("\u0001abc\0", FrameFlags.Padded, "abc")]
    [InlineData("\0\0\0\u0001\u0010abc", FrameFlags.Priority, "abc")]
    [InlineData("\u0080\0\0\u0001\u0010abc", FrameFlags.Priority, "abc")]
    [InlineData("\u0002\0\0\0\u0001\u0010abc\0\0", FrameFlags.Priority | FrameFlags.Padded, "abc")]
    [InlineData("\u0002\0\0\0\u0001\u0010\0\0", FrameFlags.Priority | FrameFlags.Padded, "")]
    internal void Padding_and_priority_are_taken_off_a_field_block(string payload, FrameFlags flags, string fragment)
    {
        byte[] bytes = Latin1.Bytes(payload);
        FrameHeader header = Header(FrameType.Headers, bytes, flags, streamId: 1);
        Assert.True(FramePayload.TryUnpad(header, bytes, out ReadOnlySpan<byte> read, out Http2Fault fault));
        Assert.True(fault.IsNone);
        Assert.Equal(fragment, Latin1.Text(read));
    }

    // Section 6.2: padding that exceeds the size remaining for the field block fragment: PROTOCOL_ERROR.
    [Theory]
    [InlineData("\u0004abc", FrameFlags.Padded)]
    [InlineData("\u0001\0\0\0\u0001\u0010", FrameFlags.Priority | FrameFlags.Padded)]
    [InlineData("\u0003\0\0\0\u0001\u0010ab", FrameFlags.Priority | FrameFlags.Padded)]
    internal void Padding_longer_than_the_field_block_is_refused(string payload, FrameFlags flags)
    {
        byte[] bytes = Latin1.Bytes(payload);
        Assert.False(FramePayload.TryUnpad(Header(FrameType.Headers, bytes, flags, streamId: 1), bytes, out _, out Http2Fault fault));
        Assert.Equal(Protocol, fault);
    }

    // Section 6.9: an increment of 0 is a stream error of type PROTOCOL_ERROR, and on the connection's window a connection error.
    [Theory]
    [InlineData(0, FaultScope.Connection)]
    [InlineData(3, FaultScope.Stream)]
    internal void A_window_that_does_not_grow_is_an_error_of_what_it_is_for(int streamId, FaultScope scope)
    {
        foreach (byte reserved in (byte[])[0, 0x80])
        {
            byte[] payload = [reserved, 0, 0, 0];
            FrameHeader header = Header(FrameType.WindowUpdate, payload, default, streamId);
            Assert.False(FramePayload.TryWindowUpdate(header, payload, out _, out Http2Fault fault));
            Assert.Equal(new Http2Fault(Http2Error.ProtocolError, scope), fault);
        }
    }

    [Fact]
    public void An_increment_has_31_bits()
    {
        FrameHeader header = Header(FrameType.WindowUpdate, new byte[4], default, 1);
        Assert.True(FramePayload.TryWindowUpdate(header, [0xFF, 0xFF, 0xFF, 0xFF], out int increment, out _));
        Assert.Equal(int.MaxValue, increment);
        Assert.True(FramePayload.TryWindowUpdate(header, [0, 0, 0, 1], out increment, out _));
        Assert.Equal(1, increment);
    }

    // RFC 9218 section 7.1.
    [Fact]
    public void A_priority_update_names_a_stream_and_its_priority()
    {
        byte[] payload = [0x80, 0, 0, 7, (byte)'u', (byte)'=', (byte)'0'];
        FrameHeader header = Header(FrameType.PriorityUpdate, payload, default, 0);
        Assert.True(FramePayload.TryPriorityUpdate(header, payload, out int streamId, out var priority, out _));
        Assert.Equal((7, "u=0"), (streamId, Latin1.Text(priority)));
    }

    // RFC 9218 section 7.1: a Prioritized Stream ID of 0 is a connection error of type PROTOCOL_ERROR.
    [Fact]
    public void A_priority_update_of_stream_0_is_refused()
    {
        FrameHeader header = Header(FrameType.PriorityUpdate, new byte[4], default, 0);
        Assert.False(FramePayload.TryPriorityUpdate(header, [0x80, 0, 0, 0], out _, out _, out Http2Fault fault));
        Assert.Equal(Protocol, fault);
    }

    private static FrameHeader Header(FrameType type, byte[] payload, FrameFlags flags, int streamId)
        => new(payload.Length, type, flags, streamId);

    private static string Data(string payload, FrameFlags flags)
    {
        byte[] bytes = Latin1.Bytes(payload);
        Assert.True(FramePayload.TryUnpad(Header(FrameType.Data, bytes, flags, streamId: 1), bytes, out var data, out Http2Fault fault));
        Assert.True(fault.IsNone);
        return Latin1.Text(data);
    }
}
