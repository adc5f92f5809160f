using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Encodes response fields without a dynamic table: static entries and literals that are not indexed. The encoded bytes have the same
/// meaning in every block of every connection, and can be cached with an asset. A peer's decoder understands them with any table size.
/// </summary>
/// <remarks>
/// Each method returns the number of bytes written. It returns 0, and changes nothing, if the destination is too small or the field must
/// not be sent: no field takes 0 bytes. <see cref="MaxLength"/> always suffices.
/// </remarks>
internal static class HpackEncoder
{
    /// <summary>The maximum size of a status: one byte of index, one of length, three digits.</summary>
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

    /// <summary>
    /// Names up to this length, which all real names have, are converted to lower case on the stack. Longer ones allocate an array.
    /// </summary>
    private const int StackNameBytes = 128;

    /// <summary>Room that suffices for a field, however it is encoded.</summary>
    public static int MaxLength(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
        => 2 + HpackInteger.Bytes(name.Length, 7) + name.Length + HpackInteger.Bytes(value.Length, 7) + value.Length;

    /// <summary>The pseudo-field of a response, which comes first. A status has three digits.</summary>
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
    /// Writes a field that is not indexed, with its name in lower case and its value without surrounding whitespace. Refuses invalid names
    /// and values, and fields that only HTTP/1.1 connections have (RFC 9113 section 8.2).
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
    /// Sets the table size of the peer's decoder, at the start of a block. Without a table it is 0, sent once, if the peer has reduced its
    /// announced size (RFC 7541 section 4.2).
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
