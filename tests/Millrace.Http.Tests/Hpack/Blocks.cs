namespace Millrace.Http.Tests;

/// <summary>Decodes blocks written in hexadecimal, as RFC 7541 writes them.</summary>
internal static class Blocks
{
    public static byte[] Bytes(string hex) => Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));

    /// <summary>The fields, a line each, then the result, then the count and the size of the table.</summary>
    public static string Decode(HpackDecoder decoder, string hex) => CollectedFields.Decode(decoder, Bytes(hex));

    public static void Give(string expected, string hex, HpackDecoder decoder) => Assert.Equal(expected, Decode(decoder, hex));

    /// <summary>The result alone, of a block for a new decoder.</summary>
    public static HpackResult ResultOf(string hex) => ResultOf(new HpackDecoder(), hex);

    public static HpackResult ResultOf(HpackDecoder decoder, string hex)
    {
        byte[] block = Bytes(hex);
        return decoder.Decode(block, new byte[HpackDecoder.ScratchBytes(block.Length)], sink: null);
    }
}
