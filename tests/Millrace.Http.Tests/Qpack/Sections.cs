namespace Millrace.Http.Tests;

/// <summary>Feeds a decoder with sections and instructions written in hexadecimal, as RFC 9204 writes them.</summary>
internal sealed class Sections(int tableBytesMax = 4096, int blockedMax = 2)
{
    private readonly byte[] _scratch = new byte[QpackDecoder.ScratchBytes(tableBytesMax, sectionBytes: 16 * 1024)];

    public QpackDecoder Decoder { get; } = new(tableBytesMax, blockedMax);

    /// <summary>The instructions for the peer, which take them away.</summary>
    public string Output
    {
        get
        {
            string output = Convert.ToHexStringLower(Decoder.Output);
            Decoder.Advance(Decoder.Output.Length);
            return output;
        }
    }

    /// <summary>The fields of a section, a line each, then the result.</summary>
    public string Decode(string hex, long stream = 0, long decodedBytesMax = long.MaxValue) =>
        CollectedSection.Decode(Decoder, stream, Blocks.Bytes(hex), _scratch, decodedBytesMax);

    public QpackResult Take(string hex) => Decoder.ReadInstructions(Blocks.Bytes(hex), _scratch);

    public QpackResult Take(ReadOnlySpan<byte> bytes) => Decoder.ReadInstructions(bytes, _scratch);

    /// <summary>Instructions that must be valid; then the entries and the size of the table.</summary>
    public (int Count, int Bytes) Insert(string hex)
    {
        Assert.Equal(QpackResult.Ok, Take(hex));
        return Decoder.Table;
    }
}
