using System.Buffers.Binary;

namespace Millrace.Quic.Packets;

/// <summary>Writes what all long headers begin with (RFC 8999, section 5.1).</summary>
internal static class LongHeader
{
    public static int Size(int destinationLength, int sourceLength) => 7 + destinationLength + sourceLength;

    /// <summary>Form, fixed bit and type; the four bits that depend on the type are 0.</summary>
    public static byte FirstByte(uint version, PacketKind kind) => (byte)(0xC0 | (QuicVersion.TypeBits(version, kind) << 4));

    /// <summary>Gives the count of bytes written, which is <see cref="Size"/>.</summary>
    public static int Write(Span<byte> packet, byte first, uint version, ReadOnlySpan<byte> destinationId, ReadOnlySpan<byte> sourceId)
    {
        packet[0] = first;
        BinaryPrimitives.WriteUInt32BigEndian(packet[1..], version);
        packet[5] = (byte)destinationId.Length;
        destinationId.CopyTo(packet[6..]);
        int offset = 6 + destinationId.Length;
        packet[offset] = (byte)sourceId.Length;
        sourceId.CopyTo(packet[(offset + 1)..]);
        return Size(destinationId.Length, sourceId.Length);
    }
}
