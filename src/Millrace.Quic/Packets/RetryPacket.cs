using Millrace.Quic.Protection;

namespace Millrace.Quic.Packets;

/// <summary>Retry packets: a server has a client prove its address (RFC 9000, section 17.2.5; RFC 9001, section 5.8).</summary>
internal static class RetryPacket
{
    public const int TagLength = 16;

    /// <summary>A longer packet is not verified, so that its pseudo-packet has a place on the stack.</summary>
    public const int MaximumLength = 2048;

    /// <summary>
    /// Writes a Retry packet and gives its length; 0: it has no room. <paramref name="destinationId"/> is the client's source id,
    /// <paramref name="sourceId"/> a new id of the server, <paramref name="originalId"/> the destination id that the client used.
    /// </summary>
    public static int Write(
        Span<byte> buffer,
        QuicCryptography cryptography,
        uint version,
        ReadOnlySpan<byte> destinationId,
        ReadOnlySpan<byte> sourceId,
        ReadOnlySpan<byte> originalId,
        ReadOnlySpan<byte> token)
    {
        int tagOffset = LongHeader.Size(destinationId.Length, sourceId.Length) + token.Length;
        if (token.IsEmpty || tagOffset + TagLength > Math.Min(buffer.Length, MaximumLength))
        {
            return 0;
        }

        int offset = LongHeader.Write(buffer, LongHeader.FirstByte(version, PacketKind.Retry), version, destinationId, sourceId);
        token.CopyTo(buffer[offset..]);
        GetTag(cryptography, version, buffer[..tagOffset], originalId, buffer.Slice(tagOffset, TagLength));
        return tagOffset + TagLength;
    }

    /// <summary>
    /// Whether a Retry packet answers the Initial packet that was sent to <paramref name="originalId"/>. Others are dropped.
    /// <paramref name="packet"/> is what <paramref name="header"/> was read from.
    /// </summary>
    public static bool IsAuthentic(
        ReadOnlySpan<byte> packet, in PacketHeader header, QuicCryptography cryptography, ReadOnlySpan<byte> originalId)
    {
        if (header.Kind != PacketKind.Retry || header.PacketLength > MaximumLength)
        {
            return false;
        }

        Span<byte> tag = stackalloc byte[TagLength];
        GetTag(cryptography, header.Version, packet[..(header.PacketLength - TagLength)], originalId, tag);
        return FixedTime.AreEqual(tag, header.RetryTag);
    }

    private static void GetTag(
        QuicCryptography cryptography, uint version, ReadOnlySpan<byte> withoutTag, ReadOnlySpan<byte> originalId, Span<byte> tag)
    {
        Span<byte> pseudoPacket = stackalloc byte[1 + ConnectionId.MaximumLength + MaximumLength];
        pseudoPacket[0] = (byte)originalId.Length;
        originalId.CopyTo(pseudoPacket[1..]);
        withoutTag.CopyTo(pseudoPacket[(1 + originalId.Length)..]);
        cryptography.GetRetryTag(version, pseudoPacket[..(1 + originalId.Length + withoutTag.Length)], tag);
    }
}
