namespace Millrace.Http.Tests;

/// <summary>RFC 9113 section 4.1.</summary>
public class FrameHeaderTests
{
    [Fact]
    public void A_header_is_nine_bytes_of_length_type_flags_and_stream() => Assert.Equal(
        new FrameHeader(0x010203, FrameType.Continuation, FrameFlags.EndHeaders, 0x7F020304),
        FrameHeader.Read([1, 2, 3, 9, 4, 0x7F, 2, 3, 4]));

    [Fact]
    public void A_header_is_read_as_it_was_written() => Cases.Run(2_000, random =>
    {
        var header = new FrameHeader(
            random.Next(FrameHeader.LengthMax + 1), (FrameType)random.Next(256), (FrameFlags)random.Next(256), random.Next());
        Span<byte> bytes = stackalloc byte[FrameHeader.Size];
        bytes.Fill(0xAA);
        FrameHeader.Write(bytes, header.Length, header.Type, header.Flags, header.StreamId);
        Assert.Equal(header, FrameHeader.Read(bytes));
    });

    // Section 4.1: the reserved bit MUST remain unset when sending and MUST be ignored when receiving.
    [Fact]
    public void The_reserved_bit_is_ignored_and_never_written()
    {
        Assert.Equal(5, FrameHeader.Read([0, 0, 0, 0, 0, 0x80, 0, 0, 5]).StreamId);
        Assert.Equal(int.MaxValue, FrameHeader.Read([0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]).StreamId);
        Span<byte> bytes = stackalloc byte[FrameHeader.Size];
        FrameHeader.Write(bytes, 0, FrameType.Data, FrameFlags.None, int.MaxValue);
        Assert.Equal(0x7F, bytes[5]);
    }
}
