using System.Buffers.Binary;

namespace Millrace.Quic.Packets;

/// <summary>
/// Version Negotiation packets (RFC 9000, section 17.2.1): what a server answers to a version that it does not speak. They are not
/// protected.
/// </summary>
internal static class VersionNegotiationPacket
{
    /// <summary>
    /// Writes a packet and gives its length; 0: it has no room. The ids are those of the packet that it answers, with destination and
    /// source swapped, and may have up to 255 bytes. <paramref name="random"/> fills the unused bits and chooses a reserved version.
    /// </summary>
    public static int Write(
        Span<byte> buffer, ReadOnlySpan<byte> destinationId, ReadOnlySpan<byte> sourceId, ReadOnlySpan<uint> versions, uint random)
    {
        int length = LongHeader.Size(destinationId.Length, sourceId.Length) + (sizeof(uint) * (versions.Length + 1));
        if (buffer.Length < length)
        {
            return 0;
        }

        // The fixed bit is set although no version needs it: so the packet looks like QUIC to what demultiplexes by it (RFC 9443).
        int offset = LongHeader.Write(buffer, (byte)(0xC0 | (random & 0x3F)), version: 0, destinationId, sourceId);
        foreach (uint version in versions)
        {
            BinaryPrimitives.WriteUInt32BigEndian(buffer[offset..], version);
            offset += sizeof(uint);
        }

        BinaryPrimitives.WriteUInt32BigEndian(buffer[offset..], (random & 0xF0F0_F0F0) | 0x0A0A_0A0A);
        return length;
    }

    public static int Count(in PacketHeader header) => header.SupportedVersions.Length / sizeof(uint);

    public static uint Get(in PacketHeader header, int index)
        => BinaryPrimitives.ReadUInt32BigEndian(header.SupportedVersions[(sizeof(uint) * index)..]);

    /// <summary>A packet that lists the version that the client has used is dropped (section 6.2).</summary>
    public static bool Contains(in PacketHeader header, uint version)
    {
        for (int i = 0; i < Count(header); i++)
        {
            if (Get(header, i) == version)
            {
                return true;
            }
        }

        return false;
    }
}
