using System.Buffers.Binary;

namespace Millrace.QuicTransport;

/// <summary>Counts the replies of an endpoint to datagrams of no connection, by what they are. Pure.</summary>
internal static class ReplyKinds
{
    private const byte LongHeaderBit = 0x80;
    private const byte TypeMask = 0x30;
    private const byte RetryOfVersion1 = 0x30;

    public static void Count(ReadOnlySpan<byte> reply, QuicListenerCounters counters)
    {
        if ((reply[0] & LongHeaderBit) == 0)
        {
            counters.StatelessResets++;
        }
        else if (BinaryPrimitives.ReadUInt32BigEndian(reply[1..]) is uint version && version == 0)
        {
            counters.VersionNegotiations++;
        }
        else if ((reply[0] & TypeMask) == (version == 1 ? RetryOfVersion1 : 0))
        {
            // In version 2 a Retry's type is 0 (RFC 9369, section 3.2).
            counters.Retries++;
        }
        else
        {
            counters.Refused++;
        }
    }
}
