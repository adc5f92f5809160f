using System.Buffers;

namespace Millrace.Http;

/// <summary>Writes bytes as text of a URL, and reads its escapes (RFC 3986, section 2.1).</summary>
internal static class PercentEncoding
{
    public const int BytesMaxPerByte = 3;

    /// <summary>Writes plain bytes unchanged and all others as "%XX", and returns the number of bytes written.</summary>
    /// <param name="bytes">Any bytes.</param>
    /// <param name="plain">The bytes that are allowed unencoded.</param>
    /// <param name="destination">At least <see cref="BytesMaxPerByte"/> bytes for each byte.</param>
    public static int Encode(scoped ReadOnlySpan<byte> bytes, SearchValues<byte> plain, Span<byte> destination)
    {
        ReadOnlySpan<byte> digits = "0123456789ABCDEF"u8;
        int written = 0;
        foreach (byte value in bytes)
        {
            if (plain.Contains(value))
            {
                destination[written++] = value;
            }
            else
            {
                destination[written++] = (byte)'%';
                destination[written++] = digits[value >> 4];
                destination[written++] = digits[value & 15];
            }
        }

        return written;
    }

    /// <summary>The byte of the escape at <paramref name="at"/>; -1 if no two hexadecimal digits follow that byte.</summary>
    public static int ByteAt(ReadOnlySpan<byte> text, int at)
    {
        int high = at + 1 < text.Length ? HexDigit(text[at + 1]) : -1;
        int low = at + 2 < text.Length ? HexDigit(text[at + 2]) : -1;
        return (high | low) < 0 ? -1 : (high << 4) | low;
    }

    private static int HexDigit(byte value) => value switch
    {
        >= (byte)'0' and <= (byte)'9' => value - '0',
        >= (byte)'A' and <= (byte)'F' => value - 'A' + 10,
        >= (byte)'a' and <= (byte)'f' => value - 'a' + 10,
        _ => -1,
    };
}
