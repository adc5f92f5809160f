using Millrace.Quic.Protection;

namespace Millrace.Quic.Packets;

/// <summary>
/// Removes a packet's protection in place, in two steps (RFC 9001, section 5): that of the header, which reveals the number and the key
/// phase by which the caller chooses keys, then that of the payload. Only what <see cref="TryOpen"/> has opened is authentic.
/// </summary>
internal ref struct PacketOpener
{
    private const byte KeyPhaseBit = 0x04;
    private const byte SpinBit = 0x20;
    private const byte LongReserved = 0x0C;
    private const byte ShortReserved = 0x18;

    private readonly Span<byte> _packet;
    private readonly int _headerLength;
    private readonly bool _isLong;

    private PacketOpener(Span<byte> packet, int headerLength, bool isLong, long number)
    {
        _packet = packet;
        _headerLength = headerLength;
        _isLong = isLong;
        Number = number;
    }

    public long Number { get; }

    /// <summary>Of a short header.</summary>
    public readonly bool KeyPhase => !_isLong && (_packet[0] & KeyPhaseBit) != 0;

    /// <summary>Of a short header.</summary>
    public readonly bool Spin => !_isLong && (_packet[0] & SpinBit) != 0;

    /// <summary>
    /// An opened packet with such bits is a PROTOCOL_VIOLATION (RFC 9000, section 17.2); one that did not open says nothing.
    /// </summary>
    public readonly bool HasReservedBits => (_packet[0] & (_isLong ? LongReserved : ShortReserved)) != 0;

    /// <summary>
    /// Removes header protection. <paramref name="datagram"/> begins with the packet that <paramref name="header"/> was read from.
    /// False: the packet is too short for a sample, or its number cannot be; it is dropped.
    /// </summary>
    public static bool TryUnprotect(
        Span<byte> datagram, in PacketHeader header, PacketProtector headerProtector, long largestNumber, out PacketOpener opener)
    {
        opener = default;
        Span<byte> packet = datagram[..header.PacketLength];
        int offset = header.NumberOffset;
        if (packet.Length < offset + PacketNumbers.MaximumLength + PacketProtector.SampleLength)
        {
            return false;
        }

        Span<byte> mask = stackalloc byte[PacketProtector.MaskLength];
        headerProtector.GetHeaderMask(packet.Slice(offset + PacketNumbers.MaximumLength, PacketProtector.SampleLength), mask);
        packet[0] ^= (byte)(mask[0] & HeaderProtection.FirstByteBits(header.IsLong));
        int numberLength = (packet[0] & HeaderProtection.NumberLengthBits) + 1;
        uint truncated = HeaderProtection.ApplyToNumber(packet.Slice(offset, PacketNumbers.MaximumLength), numberLength, mask[1..]);
        long number = PacketNumbers.Decode(truncated, numberLength, largestNumber);
        opener = new PacketOpener(packet, offset + numberLength, header.IsLong, number);
        return number <= PacketNumbers.Max;
    }

    /// <summary>Opens the payload. False: it is not authentic; its bytes are lost.</summary>
    public readonly bool TryOpen(PacketProtector protector, out ReadOnlySpan<byte> payload)
    {
        Span<byte> sealedPayload = _packet[_headerLength..];
        if (!protector.TryOpen(Number, _packet[.._headerLength], sealedPayload))
        {
            payload = default;
            return false;
        }

        payload = sealedPayload[..^PacketProtector.TagLength];
        return true;
    }
}
