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
        for (int i = 0; i < numberLength; i++)
        {
            packet[numberOffset + i] ^= mask[1 + i];
        }
    }
}
