namespace Millrace.Http.Tests;

/// <summary>RFC 7541 section 5.2 and appendix B.</summary>
public class HuffmanCodeTests
{
    [Fact]
    public void Every_symbol_has_the_code_that_appendix_B_lists()
    {
        byte[] room = new byte[4];
        for (int symbol = 0; symbol < 256; symbol++)
        {
            string text = ((char)symbol).ToString();
            byte[] expected = ReferenceHuffman.Encode(text);
            int written = HuffmanCode.Encode([(byte)symbol], room);
            Assert.Equal((symbol, Convert.ToHexString(expected)), (symbol, Convert.ToHexString(room.AsSpan(0, written))));
            Assert.Equal(written, HuffmanCode.EncodedBytes([(byte)symbol]));
            Assert.Equal((symbol, text), (symbol, Decode(expected)));
        }
    }

    [Fact]
    public void Every_pair_of_symbols_is_decoded()
    {
        byte[] room = new byte[8];
        byte[] decoded = new byte[HuffmanCode.DecodedBytesMax(room.Length)];
        for (int pair = 0; pair < 1 << 16; pair++)
        {
            byte[] text = [(byte)(pair >> 8), (byte)pair];
            int written = HuffmanCode.Encode(text, room);
            int bytes = HuffmanCode.Decode(room.AsSpan(0, written), decoded);
            Assert.True(text.AsSpan().SequenceEqual(decoded.AsSpan(0, Math.Max(bytes, 0))), $"{pair:x4}");
        }
    }

    [Fact]
    public void Texts_are_coded_and_decoded_as_by_the_reference() => Cases.Run(5_000, random =>
    {
        byte[] text = new byte[random.Next(40)];
        random.NextBytes(text);
        byte[] coded = new byte[HuffmanCode.EncodedBytes(text)];
        Assert.Equal(coded.Length, HuffmanCode.Encode(text, coded));
        Assert.Equal(ReferenceHuffman.Encode(Latin1.Text(text)), coded);
        Assert.Equal(Latin1.Text(text), Decode(coded));
    });

    [Fact]
    public void Any_bytes_are_decoded_or_refused_as_by_the_reference() => Cases.Run(20_000, random =>
    {
        byte[] coded = new byte[random.Next(12)];
        random.NextBytes(coded);
        for (int at = random.Next(12); at < coded.Length; at++)
        {
            coded[at] |= 0xF8;
        }

        Assert.Equal(ReferenceHuffman.Decode(coded), Decode(coded));
    });

    // Section 5.2: a padding strictly longer than 7 bits MUST be treated as a decoding error.
    [Theory]
    [InlineData("ff")]
    [InlineData("ff ff")]
    [InlineData("ff ff ff")]
    [InlineData("1f ff")]
    [InlineData("07 ff")]
    public void Padding_of_eight_bits_and_more_is_refused(string hex) => Assert.Null(Decode(Blocks.Bytes(hex)));

    // Section 5.2: a padding not corresponding to the most significant bits of the code for EOS MUST be treated as a decoding error.
    [Theory]
    [InlineData("18")]
    [InlineData("1e")]
    [InlineData("1b")]
    [InlineData("f1 e3 c2 e5 f2 3a 6b a0 ab 90 f4 fe")]
    public void Padding_that_is_not_of_ones_is_refused(string hex) => Assert.Null(Decode(Blocks.Bytes(hex)));

    // Section 5.2: a string literal containing the EOS symbol MUST be treated as a decoding error.
    [Theory]
    [InlineData("ff ff ff ff")]
    [InlineData("ff ff ff fc")]
    [InlineData("ff ff ff ff ff ff ff ff")]
    [InlineData("1f ff ff ff ff")]
    public void EOS_is_refused(string hex) => Assert.Null(Decode(Blocks.Bytes(hex)));

    [Fact]
    public void Padding_of_every_length_up_to_seven_bits_is_accepted()
    {
        // '0' and 'a' have five bits, so eight of them end at each of the eight places of a byte.
        for (int letters = 1; letters <= 8; letters++)
        {
            string text = new('a', letters);
            Assert.Equal(text, Decode(ReferenceHuffman.Encode(text)));
        }
    }

    [Fact]
    public void No_string_decodes_to_more_than_was_said()
    {
        byte[] coded = ReferenceHuffman.Encode(new string('0', 800));
        Assert.Equal(800, HuffmanCode.DecodedBytesMax(coded.Length));
        Assert.Equal(0, HuffmanCode.DecodedBytesMax(0));
        Assert.Equal("", Decode([]));
    }

    private static string? Decode(byte[] coded)
    {
        byte[] room = new byte[HuffmanCode.DecodedBytesMax(coded.Length)];
        int bytes = HuffmanCode.Decode(coded, room);
        return bytes < 0 ? null : Latin1.Text(room.AsSpan(0, bytes));
    }
}
