using System.Buffers;

namespace Millrace.Http;

/// <summary>Writes bytes as text of a URL (RFC 3986, section 2.1).</summary>
internal static class PercentEncoding
{
    /// <summary>What one byte takes at most.</summary>
    public const int BytesMaxPerByte = 3;

    /// <summary>Writes the bytes, and gives how many there are then: the plain ones as they are, all others as "%XX".</summary>
    /// <param name="bytes">Any bytes.</param>
    /// <param name="plain">What may stand where they are to stand.</param>
    /// <param name="destination">At least <see cref="BytesMaxPerByte"/> for each byte.</param>
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
