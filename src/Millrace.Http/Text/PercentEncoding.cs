using System.Buffers;

namespace Millrace.Http;

/// <summary>Writes bytes as text of a URL (RFC 3986, section 2.1).</summary>
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
}
