namespace Millrace.Http.Tests;

/// <summary>RFC 9114 sections 6.2 and 7.</summary>
public class Http3FrameWriterTests
{
    [Theory]
    [Trait("Rfc", "9114-7.1")]
    [InlineData((long)Http3FrameType.Data, 0, "0000")]
    [InlineData((long)Http3FrameType.Headers, 63, "013F")]
    [InlineData((long)Http3FrameType.Data, 16383, "007FFF")]
    [InlineData((long)Http3FrameType.Data, 1L << 40, "00C000010000000000")]
    public void A_header_is_a_type_and_a_length(long type, long length, string hex)
    {
        byte[] room = new byte[hex.Length / 2];
        Assert.Equal(room.Length, Http3FrameWriter.WriteHeader(room, (Http3FrameType)type, length));
        Assert.Equal(hex, Convert.ToHexString(room));
        Assert.ThrowsAny<Exception>(() => Http3FrameWriter.WriteHeader(room.AsSpan(0, room.Length - 1), (Http3FrameType)type, length));
    }

    [Fact]
    [Trait("Rfc", "9114-7.2.4")]
    public void Settings_are_read_as_they_were_written() => Cases.Run(500, random =>
    {
        var settings = new Http3Settings
        {
            TableBytesMax = random.Pick(0L, 1L, 4096L, Http3Integer.Max),
            BlockedStreamsMax = random.Pick(0L, 16L, Http3Integer.Max),
            SectionBytesMax = random.Pick(0L, 65536L, Http3Integer.Max, long.MaxValue),
            EnablesConnect = random.Next(2) == 0,
        };
        byte[] room = new byte[Http3FrameWriter.SettingsBytesMax];
        int bytes = Http3FrameWriter.Settings(room, settings);
        var reader = new Http3ControlReader(isServer: true);
        Assert.Equal(Http3ControlEvent.Settings, reader.Read(room.AsSpan(0, bytes), out int consumed));
        Assert.Equal((bytes, settings), (consumed, reader.Settings));
    });

    // Section 7.2.4.1: endpoints SHOULD include at least one setting without a meaning.
    [Fact]
    [Trait("Rfc", "9114-7.2.4.1")]
    public void Settings_have_a_reserved_one()
    {
        byte[] room = new byte[Http3FrameWriter.SettingsBytesMax];
        int bytes = Http3FrameWriter.Settings(room, new Http3Settings());
        Assert.Equal("0403404000", Convert.ToHexString(room, 0, bytes));
        Assert.Equal(0, (0x40 - 0x21) % 0x1F);
    }

    [Fact]
    [Trait("Rfc", "9114-7.2.6")]
    [Trait("Rfc", "9114-7.2.7")]
    [Trait("Rfc", "9218-7.2")]
    public void Frames_about_identifiers_are_read_as_they_were_written()
    {
        byte[] room = new byte[200];
        int bytes = Http3FrameWriter.Settings(room, new Http3Settings());
        bytes += Http3FrameWriter.GoAway(room.AsSpan(bytes), Http3Integer.Max - 3);
        bytes += Http3FrameWriter.MaxPushId(room.AsSpan(bytes), 100);
        bytes += Http3FrameWriter.PriorityUpdate(room.AsSpan(bytes), 4, "u=1"u8);
        Assert.EndsWith(
            $"GoAway {Http3Integer.Max - 3}\nMaxPushId 100\nPriorityUpdate 4 StreamPriority {{ Urgency = 1, Delivery = Whole }}\nNeedMore",
            Http3Description.Control(room.AsSpan(0, bytes), isServer: true, () => 200),
            StringComparison.Ordinal);
        Assert.Equal(Http3FrameWriter.IdFrameBytesMax, Http3FrameWriter.GoAway(room, Http3Integer.Max));
    }

    [Fact]
    [Trait("Rfc", "9114-6.2")]
    public void A_stream_begins_with_its_type()
    {
        byte[] room = new byte[1];
        Assert.Equal(1, Http3FrameWriter.StreamType(room, Http3StreamType.QpackDecoder));
        Assert.Equal(3, room[0]);
    }
}
