using Millrace.Quic.Packets;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Packets;

/// <summary>Version Negotiation, Retry, stateless resets.</summary>
public class UnprotectedPacketTests
{
    private static readonly byte[] ClientId = [1, 2, 3];
    private static readonly byte[] ServerId = [4, 5, 6, 7];
    private static readonly byte[] OriginalId = [8, 9, 10, 11, 12, 13, 14, 15];

    [Fact]
    [Trait("Rfc", "9000-17.2.1")]
    [Trait("Rfc", "9000-6.3")]
    public void Version_negotiation_lists_versions_and_a_reserved_one()
    {
        var buffer = new byte[100];
        int length = VersionNegotiationPacket.Write(buffer, ClientId, ServerId, QuicVersion.Supported, 0x1234_5678);

        Assert.True(PacketHeader.TryParse(buffer.AsSpan(0, length), 8, out PacketHeader header));
        Assert.Equal(PacketKind.VersionNegotiation, header.Kind);
        Assert.Equal(ClientId, header.DestinationId);
        Assert.Equal(ServerId, header.SourceId);
        Assert.Equal(3, VersionNegotiationPacket.Count(header));
        Assert.True(VersionNegotiationPacket.Contains(header, QuicVersion.Version1));
        Assert.True(VersionNegotiationPacket.Contains(header, QuicVersion.Version2));
        Assert.True(QuicVersion.IsReserved(VersionNegotiationPacket.Get(header, 2)));
        Assert.False(VersionNegotiationPacket.Contains(header, 0xFF00_001D));
        Assert.Equal(0xC0, buffer[0] & 0xC0);
        Assert.Equal(0, VersionNegotiationPacket.Write(buffer.AsSpan(0, length - 1), ClientId, ServerId, QuicVersion.Supported, 1));
        Assert.False(PacketHeader.TryParse(buffer.AsSpan(0, length - 1), 8, out _));
    }

    [Theory]
    [Trait("Rfc", "9000-17.2.5")]
    [InlineData(QuicVersion.Version1)]
    [InlineData(QuicVersion.Version2)]
    public void A_retry_packet_is_authentic_for_the_id_that_it_answers(uint version)
    {
        var cryptography = new TestCryptography(1);
        var buffer = new byte[200];
        int length = RetryPacket.Write(buffer, cryptography, version, ClientId, ServerId, OriginalId, [1, 2, 3, 4]);
        Span<byte> packet = buffer.AsSpan(0, length);

        Assert.True(PacketHeader.TryParse(packet, 8, out PacketHeader header));
        Assert.Equal(PacketKind.Retry, header.Kind);
        Assert.Equal((byte[])[1, 2, 3, 4], header.Token);
        Assert.Equal(ServerId, header.SourceId);
        Assert.False(header.IsProtected);
        Assert.True(RetryPacket.IsAuthentic(packet, header, cryptography, OriginalId));
        Assert.False(RetryPacket.IsAuthentic(packet, header, cryptography, ServerId));
        for (int i = 0; i < length; i++)
        {
            packet[i] ^= 0x01;
            Assert.False(PacketHeader.TryParse(packet, 8, out header) && RetryPacket.IsAuthentic(packet, header, cryptography, OriginalId));
            packet[i] ^= 0x01;
        }
    }

    [Fact]
    [Trait("Rfc", "9000-17.2.5.2")]
    public void A_retry_packet_without_a_token_is_dropped()
    {
        var cryptography = new TestCryptography(1);
        var buffer = new byte[200];
        int length = RetryPacket.Write(buffer, cryptography, 1, ClientId, ServerId, OriginalId, [1]);

        Assert.True(PacketHeader.TryParse(buffer.AsSpan(0, length), 8, out _));
        Assert.False(PacketHeader.TryParse(buffer.AsSpan(0, length - 1), 8, out _));
        Assert.Equal(0, RetryPacket.Write(buffer, cryptography, 1, ClientId, ServerId, OriginalId, []));
        Assert.Equal(0, RetryPacket.Write(buffer.AsSpan(0, length - 1), cryptography, 1, ClientId, ServerId, OriginalId, [1]));
    }

    [Fact]
    [Trait("Rfc", "9000-17.2.5")]
    public void A_retry_packet_longer_than_any_is_not_authentic()
    {
        var cryptography = new TestCryptography(1);
        var datagram = new byte[RetryPacket.MaximumLength + 1];
        LongHeader.Write(datagram, 0xF0, 1, ClientId, ServerId);

        Assert.True(PacketHeader.TryParse(datagram, 8, out PacketHeader header));
        Assert.False(RetryPacket.IsAuthentic(datagram, header, cryptography, OriginalId));
    }

    [Theory]
    [Trait("Rfc", "9000-10.3")]
    [Trait("Rfc", "9000-10.3.3")]
    [InlineData(21, 0)]
    [InlineData(22, 21)]
    [InlineData(43, 42)]
    [InlineData(44, 43)]
    [InlineData(1200, 43)]
    public void A_stateless_reset_is_shorter_than_its_cause_and_ends_with_the_token(int causeLength, int length)
    {
        var cryptography = new TestCryptography(1);
        var token = new byte[StatelessReset.TokenLength];
        cryptography.GetStatelessResetToken(ServerId, token);
        var buffer = new byte[100];

        Assert.Equal(length, StatelessReset.Write(buffer, causeLength, token, cryptography));
        if (length > 0)
        {
            Span<byte> reset = buffer.AsSpan(0, length);
            Assert.Equal(0x40, reset[0] & 0xC0);
            Assert.True(StatelessReset.IsReset(reset, token));
            reset[^1] ^= 1;
            Assert.False(StatelessReset.IsReset(reset, token));
        }
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.1")]
    public void A_reset_is_recognised_whatever_its_first_bits_are_but_not_below_21_bytes()
    {
        byte[] token = [.. Enumerable.Range(1, 16).Select(i => (byte)i)];

        Assert.True(StatelessReset.IsReset([0xFF, 0, 0, 0, 0, .. token], token));
        Assert.False(StatelessReset.IsReset([0xFF, 0, 0, 0, .. token], token));
    }
}
