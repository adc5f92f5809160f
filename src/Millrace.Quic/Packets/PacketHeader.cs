using System.Buffers.Binary;

namespace Millrace.Quic.Packets;

/// <summary>
/// A packet's header before its protection is removed (RFC 9000, section 17; RFC 8999, section 5). Its spans are views of the datagram.
/// Nothing in it is authentic yet. Reserved bits and packet number are <see cref="PacketOpener"/>'s.
/// </summary>
internal ref struct PacketHeader
{
    private const byte LongForm = 0x80;
    private const byte FixedBit = 0x40;

    /// <summary>First byte, version, and the lengths of two empty ids.</summary>
    private const int LongMinimum = 7;

    public PacketKind Kind { get; private set; }

    /// <summary>0 for short headers and for version negotiation.</summary>
    public uint Version { get; private set; }

    /// <summary>At most 20 bytes, but for an unsupported version or version negotiation: 255.</summary>
    public ReadOnlySpan<byte> DestinationId { get; private set; }

    /// <summary>Empty for short headers. For its length see <see cref="DestinationId"/>.</summary>
    public ReadOnlySpan<byte> SourceId { get; private set; }

    /// <summary>The token of an Initial or Retry packet.</summary>
    public ReadOnlySpan<byte> Token { get; private set; }

    /// <summary>The integrity tag of a Retry packet.</summary>
    public ReadOnlySpan<byte> RetryTag { get; private set; }

    /// <summary>The list of a Version Negotiation packet, four bytes each; see <see cref="VersionNegotiationPacket"/>.</summary>
    public ReadOnlySpan<byte> SupportedVersions { get; private set; }

    /// <summary>Where the protected packet number begins; 0 for packets without one.</summary>
    public int NumberOffset { get; private set; }

    /// <summary>All bytes of the packet; the next coalesced packet begins after them.</summary>
    public int PacketLength { get; private set; }

    public readonly bool IsLong => Kind != PacketKind.OneRtt;

    /// <summary>Whether it has a packet number and a protected payload.</summary>
    public readonly bool IsProtected => NumberOffset > 0;

    /// <summary>
    /// Reads the first packet of a datagram. False: these bytes, and what follows them in the datagram, are no packet, and are dropped
    /// without an error (section 5.2). <paramref name="localIdLength"/>: the length of the ids that this end has issued.
    /// </summary>
    public static bool TryParse(ReadOnlySpan<byte> datagram, int localIdLength, out PacketHeader header)
    {
        header = default;
        if (datagram.IsEmpty)
        {
            return false;
        }

        return (datagram[0] & LongForm) == 0 ? header.TryParseShort(datagram, localIdLength) : header.TryParseLong(datagram);
    }

    private bool TryParseShort(ReadOnlySpan<byte> datagram, int localIdLength)
    {
        if ((datagram[0] & FixedBit) == 0 || datagram.Length <= 1 + localIdLength)
        {
            return false;
        }

        Kind = PacketKind.OneRtt;
        DestinationId = datagram.Slice(1, localIdLength);
        NumberOffset = 1 + localIdLength;
        PacketLength = datagram.Length;
        return true;
    }

    private bool TryParseLong(ReadOnlySpan<byte> datagram)
    {
        if (datagram.Length < LongMinimum)
        {
            return false;
        }

        Version = BinaryPrimitives.ReadUInt32BigEndian(datagram[1..]);
        int destinationLength = datagram[5];
        int sourceOffset = 6 + destinationLength;
        if (datagram.Length <= sourceOffset)
        {
            return false;
        }

        int sourceLength = datagram[sourceOffset];
        int end = sourceOffset + 1 + sourceLength;
        if (datagram.Length < end)
        {
            return false;
        }

        DestinationId = datagram.Slice(6, destinationLength);
        SourceId = datagram.Slice(sourceOffset + 1, sourceLength);
        PacketLength = datagram.Length;
        if (Version == 0)
        {
            Kind = PacketKind.VersionNegotiation;
            SupportedVersions = datagram[end..];
            return SupportedVersions.Length > 0 && SupportedVersions.Length % sizeof(uint) == 0;
        }

        if (!QuicVersion.IsSupported(Version))
        {
            Kind = PacketKind.UnsupportedVersion;
            return true;
        }

        Kind = QuicVersion.KindOf(Version, (datagram[0] >> 4) & 3);
        return (datagram[0] & FixedBit) != 0
            && destinationLength <= ConnectionId.MaximumLength
            && sourceLength <= ConnectionId.MaximumLength
            && (Kind == PacketKind.Retry ? TryParseRetry(datagram, end) : TryParseProtected(datagram, end));
    }

    /// <summary>A Retry packet takes the whole datagram; its token is not empty (section 17.2.5.2).</summary>
    private bool TryParseRetry(ReadOnlySpan<byte> datagram, int offset)
    {
        int tokenLength = datagram.Length - offset - RetryPacket.TagLength;
        if (tokenLength <= 0)
        {
            return false;
        }

        Token = datagram.Slice(offset, tokenLength);
        RetryTag = datagram[^RetryPacket.TagLength..];
        return true;
    }

    private bool TryParseProtected(ReadOnlySpan<byte> datagram, int offset)
    {
        if (Kind == PacketKind.Initial)
        {
            if (!VariableLengthInteger.TryRead(datagram[offset..], out long tokenLength, out int tokenCount)
                || tokenLength > datagram.Length - offset - tokenCount)
            {
                return false;
            }

            Token = datagram.Slice(offset + tokenCount, (int)tokenLength);
            offset += tokenCount + (int)tokenLength;
        }

        if (!VariableLengthInteger.TryRead(datagram[offset..], out long length, out int count)
            || length > datagram.Length - offset - count)
        {
            return false;
        }

        NumberOffset = offset + count;
        PacketLength = NumberOffset + (int)length;
        return true;
    }
}
