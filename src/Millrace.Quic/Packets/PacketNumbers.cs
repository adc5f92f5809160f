using System.Diagnostics;
using System.Numerics;

namespace Millrace.Quic.Packets;

/// <summary>Packet numbers in 1 to 4 bytes (RFC 9000, sections 12.3 and 17.1, appendix A).</summary>
internal static class PacketNumbers
{
    /// <summary>No packet yet, where the largest number is asked.</summary>
    public const long None = -1;

    public const long Max = VariableLengthInteger.Max;

    public const int MaximumLength = 4;

    /// <summary>
    /// Bytes that a number needs so that the peer, which may have received nothing since <paramref name="largestAcknowledged"/>, finds it
    /// again (appendix A.2).
    /// </summary>
    public static int Length(long number, long largestAcknowledged)
    {
        Debug.Assert(number > largestAcknowledged);
        int bits = BitOperations.Log2((ulong)(number - largestAcknowledged)) + 2;
        return Math.Min((bits + 7) / 8, MaximumLength);
    }

    /// <summary>The number nearest to the next expected one that ends with these bits (appendix A.3).</summary>
    public static long Decode(long truncated, int length, long largestReceived)
    {
        long expected = largestReceived + 1;
        long window = 1L << (8 * length);
        long candidate = (expected & ~(window - 1)) | truncated;
        if (candidate <= expected - (window / 2) && candidate <= Max - window)
        {
            return candidate + window;
        }

        return candidate > expected + (window / 2) && candidate >= window ? candidate - window : candidate;
    }
}
