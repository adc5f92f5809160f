using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Writes a response's head as the representations of a QPACK field section, RFC 9204 section 4.5, from static entries and literals. It
/// uses no dynamic table: they have the same meaning on every connection, and can be cached with an asset. Each section begins with a <see
/// cref="Prefix"/>.
/// </summary>
internal ref struct QpackBlockWriter(Span<byte> destination) : IHeadWriter<QpackBlockWriter>
{
    /// <summary>The required insert count and the base, section 4.5.1, of a section that needs no dynamic table.</summary>
    public const int PrefixBytes = 2;

    /// <summary>The maximum size of a field, however it is encoded, without its name and value: the index and both lengths.</summary>
    public const int FieldOverheadBytesMax = FieldBlockWriter.FieldOverheadBytesMax;

    private const byte StaticIndexedPattern = 0xC0;
    private const byte StaticNamePattern = 0x50;
    private const byte LiteralNamePattern = 0x20;
    private const byte CodedNamePattern = 0x28;
    private const byte CodedPattern = 0x80;

    /// <summary>The first entry with the name :status.</summary>
    private const int StatusName = 24;

    private readonly Span<byte> _destination = destination;

    public static HeadCoding Coding => HeadCoding.Qpack;

    public static QpackBlockWriter Over(Span<byte> destination) => new(destination);

    public int Written { readonly get; private set; }

    /// <summary>Says, at the start of a section, that no entry of the dynamic table is needed.</summary>
    public void Prefix()
    {
        _destination[Written] = 0;
        _destination[Written + 1] = 0;
        Written += PrefixBytes;
    }

    public void Status(int status)
    {
        Debug.Assert(status is >= 100 and <= 999);
        Span<byte> digits = stackalloc byte[3];
        Utf8Formatter.TryFormat(status, digits, out _);
        int index = status switch
        {
            200 => 25,
            206 => 65,
            304 => 26,
            404 => 27,
            _ => QpackStaticTable.TryFind(":status"u8, digits, out int found, out bool hasValue) && hasValue ? found : -1,
        };
        if (index >= 0)
        {
            WriteInteger(StaticIndexedPattern, 6, index);
            return;
        }

        WriteInteger(StaticNamePattern, 4, StatusName);
        WriteString(digits);
    }

    public void AnyStatus(int status) => Status(status);

    /// <inheritdoc/>
    /// <remarks>
    /// The name is written in lower case, and the value without surrounding whitespace. Refuses fields that only HTTP/1.1 connections have,
    /// too (RFC 9114 section 4.2).
    /// </remarks>
    public void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
    {
        Span<byte> lower = name.Length <= FieldBlockWriter.StackNameBytes
            ? stackalloc byte[FieldBlockWriter.StackNameBytes]
            : new byte[name.Length];
        lower = lower[..name.Length];
        FieldRules.ToLowerOrThrow(name, value, lower);
        value = value.Trim(" \t"u8);
        bool isKnown = QpackStaticTable.TryFind(lower, value, out int index, out bool hasValue);
        if (hasValue)
        {
            WriteInteger(StaticIndexedPattern, 6, index);
            return;
        }

        if (isKnown)
        {
            WriteInteger(StaticNamePattern, 4, index);
        }
        else
        {
            WriteName(lower);
        }

        WriteString(value);
    }

    public void Lines(scoped ReadOnlySpan<byte> lines)
    {
        lines.CopyTo(_destination[Written..]);
        Written += lines.Length;
    }

    public readonly int Finish() => Written;

    /// <summary>A string with a prefix of 4 bits, one of which says whether it is in Huffman code.</summary>
    private void WriteName(scoped ReadOnlySpan<byte> name)
    {
        int coded = HuffmanCode.EncodedBytes(name);
        if (coded < name.Length)
        {
            WriteInteger(CodedNamePattern, 3, coded);
            Written += HuffmanCode.Encode(name, _destination[Written..]);
            return;
        }

        WriteInteger(LiteralNamePattern, 3, name.Length);
        Lines(name);
    }

    private void WriteString(scoped ReadOnlySpan<byte> text)
    {
        int coded = HuffmanCode.EncodedBytes(text);
        if (coded < text.Length)
        {
            WriteInteger(CodedPattern, 7, coded);
            Written += HuffmanCode.Encode(text, _destination[Written..]);
            return;
        }

        WriteInteger(0, 7, text.Length);
        Lines(text);
    }

    private void WriteInteger(byte pattern, int prefixBits, int value) =>
        Written += HpackInteger.Write(_destination[Written..], pattern, prefixBits, value);
}
