using System.Buffers.Binary;
using Millrace.Quic.Protection;

namespace Millrace.Quic.Packets;

/// <summary>Which bits of a header are masked (RFC 9001, section 5.4.1).</summary>
internal static class HeaderProtection
{
    /// <summary>The length of the packet number less one.</summary>
    public const byte NumberLengthBits = 0x03;

    public static byte FirstByteBits(bool isLong) => isLong ? (byte)0x0F : (byte)0x1F;

    /// <summary>Masks the header of a sealed packet.</summary>
    public static void Apply(Span<byte> packet, int numberOffset, int numberLength, bool isLong, PacketProtector protector)
    {
        Span<byte> mask = stackalloc byte[PacketProtector.MaskLength];
        protector.GetHeaderMask(packet.Slice(numberOffset + PacketNumbers.MaximumLength, PacketProtector.SampleLength), mask);
        packet[0] ^= (byte)(mask[0] & FirstByteBits(isLong));
        ApplyToNumber(packet.Slice(numberOffset, PacketNumbers.MaximumLength), numberLength, mask[1..]);
    }

    /// <summary>
    /// Masks or unmasks a packet number, the first <paramref name="numberLength"/> of four bytes, and returns these bytes. It does the same
    /// for every length (RFC 9001, section 9.5).
    /// </summary>
    public static uint ApplyToNumber(Span<byte> bytes, int numberLength, ReadOnlySpan<byte> mask)
    {
        int unused = 8 * (PacketNumbers.MaximumLength - numberLength);
        uint changed = BinaryPrimitives.ReadUInt32BigEndian(bytes)
            ^ (BinaryPrimitives.ReadUInt32BigEndian(mask) & (uint.MaxValue << unused));
        BinaryPrimitives.WriteUInt32BigEndian(bytes, changed);
        return changed >> unused;
    }
}
