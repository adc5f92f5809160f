using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Encodes fields of answers without a table of its own: static entries and literals that are not indexed, so what is encoded means
/// the same in every block of every connection, and can be kept with an asset. A decoder of a peer's that announced a table of any
/// size understands it.
/// </summary>
/// <remarks>
/// Each function gives the bytes it wrote. That is 0, and nothing has changed, where the destination is too small or the field must
/// not be sent: no field takes 0 bytes. <see cref="MaxLength"/> is always enough.
/// </remarks>
internal static class HpackEncoder
{
    /// <summary>What any status takes at most: one byte of index, one of length, three digits.</summary>
    public const int StatusBytesMax = 5;

    /// <summary>Five bytes hold any size.</summary>
    public const int TableSizeUpdateBytesMax = HpackInteger.BytesMax;

    private const byte IndexedPattern = 0x80;
    private const byte SizeUpdatePattern = 0x20;
    private const byte NeverIndexedPattern = 0x10;
    private const byte NotIndexedPattern = 0x00;
    private const byte HuffmanPattern = 0x80;

    /// <summary>Index bits of a literal that is not indexed; a static index of 15 and more takes a second byte.</summary>
    private const int LiteralPrefixBits = 4;

    private const int StatusName = 8;

    /// <summary>Names up to here are made lower-case on the stack: all there are. Longer ones cost an array.</summary>
    private const int StackNameBytes = 128;

    /// <summary>Room that suffices for a field, however it is encoded.</summary>
    public static int MaxLength(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
        => 2 + HpackInteger.Bytes(name.Length, 7) + name.Length + HpackInteger.Bytes(value.Length, 7) + value.Length;

    /// <summary>The pseudo-field of an answer, which comes first. A status has three digits.</summary>
    public static int WriteStatus(Span<byte> destination, int status)
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
            return destination.IsEmpty ? 0 : HpackInteger.Write(destination, IndexedPattern, 7, index);
        }

        Span<byte> digits = stackalloc byte[3];
        Utf8Formatter.TryFormat(status, digits, out _);
        return WriteLiteral(destination, StatusName, default, digits, NotIndexedPattern);
    }

    /// <summary>
    /// A field that is not indexed. Its name is written in lower case, and its value without whitespace around it. Refused are what
    /// is no name or no value, and fields that only connections of HTTP/1.1 have (RFC 9113 section 8.2).
    /// </summary>
    public static int WriteField(
        Span<byte> destination,
        ReadOnlySpan<byte> name,
        ReadOnlySpan<byte> value,
        FieldSensitivity sensitivity = FieldSensitivity.Plain)
    {
        if (name.IsEmpty || name.ContainsAnyExcept(ByteClasses.Token) || value.ContainsAnyExcept(ByteClasses.FieldValue))
        {
            return 0;
        }

        Span<byte> lower = name.Length <= StackNameBytes ? stackalloc byte[StackNameBytes] : new byte[name.Length];
        lower = lower[..name.Length];
        for (int at = 0; at < name.Length; at++)
        {
            lower[at] = (byte)(name[at] is >= (byte)'A' and <= (byte)'Z' ? name[at] | 0x20 : name[at]);
        }

        if (ConnectionFields.Contains(lower))
        {
            return 0;
        }

        byte pattern = sensitivity == FieldSensitivity.NeverIndexed ? NeverIndexedPattern : NotIndexedPattern;
        return WriteLiteral(destination, StaticTable.Find(lower), lower, value.Trim(" \t"u8), pattern);
    }

    /// <summary>
    /// Tells the peer's decoder which size its table has for us, at the start of a block. Without a table that is 0, once, if it has
    /// announced less than it had (RFC 7541 section 4.2).
    /// </summary>
    public static int WriteTableSizeUpdate(Span<byte> destination, int tableBytes) =>
        destination.Length < HpackInteger.Bytes(tableBytes, 5) ? 0 : HpackInteger.Write(destination, SizeUpdatePattern, 5, tableBytes);

    private static int WriteLiteral(
        Span<byte> destination,
        int nameIndex,
        ReadOnlySpan<byte> name,
        ReadOnlySpan<byte> value,
        byte pattern)
    {
        int room = HpackInteger.Bytes(nameIndex, LiteralPrefixBits) + (nameIndex == 0 ? StringBytes(name) : 0) + StringBytes(value);
        if (room > destination.Length)
        {
            return 0;
        }

        int written = HpackInteger.Write(destination, pattern, LiteralPrefixBits, nameIndex);
        written += nameIndex == 0 ? WriteString(destination[written..], name) : 0;
        written += WriteString(destination[written..], value);
        Debug.Assert(written == room);
        return written;
    }

    private static int StringBytes(ReadOnlySpan<byte> text)
    {
        int bytes = Math.Min(text.Length, HuffmanCode.EncodedBytes(text));
        return HpackInteger.Bytes(bytes, 7) + bytes;
    }

    private static int WriteString(Span<byte> destination, ReadOnlySpan<byte> text)
    {
        int coded = HuffmanCode.EncodedBytes(text);
        if (coded < text.Length)
        {
            int lengthBytes = HpackInteger.Write(destination, HuffmanPattern, 7, coded);
            return lengthBytes + HuffmanCode.Encode(text, destination[lengthBytes..]);
        }

        int start = HpackInteger.Write(destination, 0, 7, text.Length);
        text.CopyTo(destination[start..]);
        return start + text.Length;
    }
}
