using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>Decodes blocks as <see cref="ReferenceHpack"/> does, in its words, by the real decoder.</summary>
internal sealed class CollectedFields : IHpackSink
{
    private readonly StringBuilder _text = new();

    public static string Decode(
        HpackDecoder decoder, ReadOnlySpan<byte> block, Span<byte> scratch, long decodedBytesMax = long.MaxValue)
    {
        var fields = new CollectedFields();
        HpackResult result = decoder.Decode(block, scratch, fields, decodedBytesMax);
        return $"{fields._text}{result}\n{decoder.Table.Count} {decoder.Table.Bytes}";
    }

    public static string Decode(HpackDecoder decoder, byte[] block, long decodedBytesMax = long.MaxValue)
        => Decode(decoder, block, new byte[HpackDecoder.ScratchBytes(block.Length)], decodedBytesMax);

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        string text = Latin1.Text(name);
        string expected = staticIndex == 0 ? text : Latin1.Text(StaticTable.Name(staticIndex));
        _text.Append(text == expected ? text : $"{text} (as {expected})").Append($": {Latin1.Text(value)}\n");
    }
}
