namespace Millrace.Http.Tests;

/// <summary>RFC 7541 section 5.1.</summary>
public class HpackIntegerTests
{
    [Fact]
    public void Every_value_is_read_as_it_was_written() => Cases.Run(20_000, random =>
    {
        int prefixBits = random.Next(1, 9);
        int value = random.Next(3) == 0 ? random.Next(300) : random.Next(int.MaxValue) >> random.Next(31);
        Span<byte> bytes = stackalloc byte[HpackInteger.BytesMax];
        int written = HpackInteger.Write(bytes, 0, prefixBits, value);

        int at = 0;
        Assert.Equal(HpackResult.Ok, HpackInteger.Read(bytes[..written], prefixBits, ref at, out int read));
        Assert.Equal((value, written), (read, at));
        for (int length = 0; length < written; length++)
        {
            at = 0;
            Assert.Equal(HpackResult.Truncated, HpackInteger.Read(bytes[..length], prefixBits, ref at, out _));
        }
    });

    [Theory]
    [InlineData(1)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    [InlineData(7)]
    [InlineData(8)]
    public void The_values_around_a_full_prefix_are_written_in_their_lengths(int prefixBits)
    {
        int full = (1 << prefixBits) - 1;
        Assert.Equal(1, Bytes(full - 1, prefixBits));
        Assert.Equal(2, Bytes(full, prefixBits));
        Assert.Equal(2, Bytes(full + 127, prefixBits));
        Assert.Equal(3, Bytes(full + 128, prefixBits));
        Assert.Equal(HpackInteger.BytesMax, Bytes(int.MaxValue, prefixBits));
    }

    [Theory]
    [InlineData("ff 80 ff ff ff 07", int.MaxValue)]
    [InlineData("ff 00", 127)]
    [InlineData("ff 80 80 80 80 00", 127)]
    public void The_largest_value_and_zeros_after_a_value_are_read(string hex, int value)
    {
        int at = 0;
        Assert.Equal(HpackResult.Ok, HpackInteger.Read(Blocks.Bytes(hex), 7, ref at, out int read));
        Assert.Equal(value, read);
    }

    // Section 5.1: encodings that exceed limits, in value or octet length, MUST be treated as decoding errors.
    [Theory]
    [InlineData("ff 81 ff ff ff 07")]
    [InlineData("ff ff ff ff ff 7f")]
    [InlineData("ff ff ff ff ff 0f")]
    [InlineData("ff 80 80 80 80 80 00")]
    [InlineData("ff ff ff ff ff ff ff ff ff ff 01")]
    public void What_is_too_large_or_too_long_is_refused(string hex)
    {
        int at = 0;
        Assert.Equal(HpackResult.IntegerOverflow, HpackInteger.Read(Blocks.Bytes(hex), 7, ref at, out _));
        Assert.Equal(HpackResult.IntegerOverflow, Blocks.ResultOf(hex));
    }

    private static int Bytes(int value, int prefixBits) => HpackInteger.Write(new byte[HpackInteger.BytesMax], 0, prefixBits, value);
}
