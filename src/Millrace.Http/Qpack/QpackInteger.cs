using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Integers that begin within a byte, RFC 7541 section 5.1, with the range of QPACK: 62 bits (RFC 9204 section 4.1.1). See <see
/// cref="HpackInteger"/> for those of HPACK.
/// </summary>
internal static class QpackInteger
{
    public const long Max = Http3Integer.Max;

    /// <summary>Nine bytes contain 63 bits; further bytes could only be zeros, or too much.</summary>
    private const int ContinuationBytesMax = 9;

    public const int BytesMax = 1 + ContinuationBytesMax;

    /// <summary>Reads the integer at <paramref name="at"/>, which moves after it unless the input ends within it.</summary>
    public static QpackResult Read(ReadOnlySpan<byte> input, int prefixBits, ref int at, out long value)
    {
        Debug.Assert(prefixBits is >= 1 and <= 8);
        value = 0;
        if (at >= input.Length)
        {
            return QpackResult.Truncated;
        }

        int prefixMax = (1 << prefixBits) - 1;
        value = input[at] & prefixMax;
        if (value < prefixMax)
        {
            at++;
            return QpackResult.Ok;
        }

        return ReadContinuation(input, ref at, ref value);
    }

    /// <summary>Writes a value below the bits that <paramref name="pattern"/> has above the prefix. Returns the number of bytes.</summary>
    public static int Write(Span<byte> destination, byte pattern, int prefixBits, long value)
    {
        int prefixMax = (1 << prefixBits) - 1;
        Debug.Assert(value is >= 0 and <= Max && (pattern & prefixMax) == 0);
        if (value < prefixMax)
        {
            destination[0] = (byte)(pattern | value);
            return 1;
        }

        destination[0] = (byte)(pattern | prefixMax);
        int bytes = 1;
        for (value -= prefixMax; value >= 0x80; value >>= 7)
        {
            destination[bytes++] = (byte)(value | 0x80);
        }

        destination[bytes++] = (byte)value;
        return bytes;
    }

    private static QpackResult ReadContinuation(ReadOnlySpan<byte> input, ref int at, ref long value)
    {
        for (int index = 0; index < ContinuationBytesMax; index++)
        {
            if (at + 1 + index >= input.Length)
            {
                return QpackResult.Truncated;
            }

            // At most 2^63 - 1 plus a prefix: beyond it the sum is negative.
            byte next = input[at + 1 + index];
            value += (long)(next & 0x7F) << (7 * index);
            if (next < 0x80)
            {
                at += 2 + index;
                return value is >= 0 and <= Max ? QpackResult.Ok : QpackResult.IntegerOverflow;
            }
        }

        return QpackResult.IntegerOverflow;
    }
}
