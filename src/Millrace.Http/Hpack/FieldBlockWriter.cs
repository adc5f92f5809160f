using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Writes a response's head as an HTTP/2 field block, from static entries and literals that are not indexed. It uses no dynamic table: the
/// block has the same meaning on every connection, and can be cached with an asset.
/// </summary>
internal ref struct FieldBlockWriter(Span<byte> destination) : IHeadWriter<FieldBlockWriter>
{
    /// <summary>The maximum size of a field, however it is encoded, without its name and value: the index and both lengths.</summary>
    public const int FieldOverheadBytesMax = 2 + (2 * HpackInteger.BytesMax);

    public const int TableSizeUpdateBytes = 1;

    private const byte IndexedPattern = 0x80;
    private const byte SizeUpdatePattern = 0x20;
    private const byte NotIndexedPattern = 0x00;
    private const byte HuffmanPattern = 0x80;

    private const int StatusName = 8;

    /// <summary>
    /// Names up to this length, which all real names have, are converted to lower case on the stack. Longer ones allocate an array.
    /// </summary>
    public const int StackNameBytes = 128;

    private readonly Span<byte> _destination = destination;

    public static HeadCoding Coding => HeadCoding.Hpack;

    public static FieldBlockWriter Over(Span<byte> destination) => new(destination);

    public int Written { readonly get; private set; }

    /// <summary>
    /// Says, at the start of a block, that no table is used: once, if the peer has reduced its announced size (RFC 7541 section 4.2).
    /// </summary>
    public void TableSizeUpdate() => WriteInteger(SizeUpdatePattern, 5, 0);

    public void Status(int status)
    {
        Debug.Assert(status is >= 100 and <= 999);
        int index = status switch
        {
            200 => 8,
            204 => 9,
            206 => 10,
            304 => 11,
            400 => 12,
            404 => 13,
            500 => 14,
            _ => 0,
        };
        if (index != 0)
        {
            WriteInteger(IndexedPattern, 7, index);
            return;
        }

        Span<byte> digits = stackalloc byte[3];
        Utf8Formatter.TryFormat(status, digits, out _);
        WriteNameIndex(StatusName);
        WriteString(digits);
    }

    public void AnyStatus(int status) => Status(status);

    /// <inheritdoc/>
    /// <remarks>
    /// The name is written in lower case, and the value without surrounding whitespace. Refuses fields that only HTTP/1.1 connections have,
    /// too (RFC 9113 section 8.2).
    /// </remarks>
    public void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
    {
        Span<byte> lower = name.Length <= StackNameBytes ? stackalloc byte[StackNameBytes] : new byte[name.Length];
        lower = lower[..name.Length];
        FieldRules.ToLowerOrThrow(name, value, lower);
        int index = StaticTable.Find(lower);
        WriteNameIndex(index);
        if (index == 0)
        {
            WriteString(lower);
        }

        WriteString(value.Trim(" \t"u8));
    }

    public void Lines(scoped ReadOnlySpan<byte> lines)
    {
        lines.CopyTo(_destination[Written..]);
        Written += lines.Length;
    }

    public readonly int Finish() => Written;

    /// <summary>The index takes the low 4 bits; one of 15 and more takes a second byte. 0 if the name follows.</summary>
    private void WriteNameIndex(int index) => WriteInteger(NotIndexedPattern, 4, index);

    private void WriteString(scoped ReadOnlySpan<byte> text)
    {
        int coded = HuffmanCode.EncodedBytes(text);
        if (coded < text.Length)
        {
            WriteInteger(HuffmanPattern, 7, coded);
            Written += HuffmanCode.Encode(text, _destination[Written..]);
            return;
        }

        WriteInteger(0, 7, text.Length);
        Lines(text);
    }

    private void WriteInteger(byte pattern, int prefixBits, int value) =>
        Written += HpackInteger.Write(_destination[Written..], pattern, prefixBits, value);
}
