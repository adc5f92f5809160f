namespace Millrace.Http.Tests;

/// <summary>What a reader of a block hands out, and for how long it holds.</summary>
public class HpackReaderTests
{
    [Fact]
    public void A_text_that_was_kept_stays_whatever_is_decoded_after_it()
    {
        // "www.example.com" in Huffman code (RFC 7541, appendix C.4.1), twice.
        byte[] block = Convert.FromHexString("8CF1E3C2E5F23A6BA0AB90F4FF8CF1E3C2E5F23A6BA0AB90F4FF");
        var reader = new HpackReader(block, new byte[128]);
        ReadOnlySpan<byte> kept = reader.Keep("kept"u8);

        Assert.Equal(HpackResult.Ok, reader.ReadString(out ReadOnlySpan<byte> first));
        Assert.Equal(HpackResult.Ok, reader.ReadString(out ReadOnlySpan<byte> second));

        Assert.Equal("kept"u8, kept);
        Assert.Equal("www.example.com"u8, first);
        Assert.Equal("www.example.com"u8, second);
        reader.Reuse();
        Assert.True(reader.IsAtEnd);
    }
}
