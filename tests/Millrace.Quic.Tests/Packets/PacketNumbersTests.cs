using Millrace.Quic.Packets;

namespace Millrace.Quic.Tests.Packets;

public class PacketNumbersTests
{
    [Theory]
    [Trait("Rfc", "9000-17.1")]
    [InlineData(0xAC5C02, 0xABE8B3, 2)]
    [InlineData(0xACE8FE, 0xABE8B3, 3)]
    [InlineData(0, PacketNumbers.None, 1)]
    [InlineData(126, PacketNumbers.None, 1)]
    [InlineData(127, PacketNumbers.None, 2)]
    [InlineData(PacketNumbers.Max, 0, 4)]
    public void A_number_has_bytes_for_twice_what_is_not_acknowledged(long number, long acknowledged, int length)
        => Assert.Equal(length, PacketNumbers.Length(number, acknowledged));

    [Theory]
    [Trait("Rfc", "9000-17.1")]
    [InlineData(0x9B32, 2, 0xA82F_30EA, 0xA82F_9B32)]
    [InlineData(0, 1, PacketNumbers.None, 0)]
    [InlineData(0xFF, 1, PacketNumbers.None, 0xFF)]
    [InlineData(0x00, 1, 0xFF, 0x100)]
    [InlineData(0xFF, 1, 0x100, 0xFF)]
    [InlineData(0x81, 1, 0x100, 0x181)]
    [InlineData(0x00, 1, 0x17F, 0x200)]
    [InlineData(0x82, 1, 0x100, 0x82)]
    [InlineData(0xFF, 1, PacketNumbers.Max - 1, PacketNumbers.Max)]
    [InlineData(0x00, 1, PacketNumbers.Max - 1, PacketNumbers.Max - 255)]
    public void A_number_is_the_nearest_to_the_next_one(long truncated, int length, long largest, long number)
        => Assert.Equal(number, PacketNumbers.Decode(truncated, length, largest));

    [Fact]
    [Trait("Rfc", "9000-17.1")]
    public void A_number_is_found_again_by_a_receiver_that_has_any_packet_since_the_acknowledged_one()
    {
        var random = new Random(1);
        for (int i = 0; i < 100_000; i++)
        {
            long acknowledged = random.NextInt64(-1, 1L << random.Next(1, 62));
            long number = acknowledged + 1 + random.NextInt64(1L << random.Next(0, 31));
            long largestReceived = acknowledged + random.NextInt64(number - acknowledged);
            int length = PacketNumbers.Length(number, acknowledged);
            long truncated = number & ((1L << (8 * length)) - 1);

            Assert.Equal(number, PacketNumbers.Decode(truncated, length, largestReceived));
        }
    }
}
