using Millrace.Quic.Packets;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Packets;

public class PacketHeaderTests
{
    public static TheoryData<int, uint> LongKinds
    {
        get
        {
            var data = new TheoryData<int, uint>();
            foreach (uint version in QuicVersion.Supported)
            {
                data.Add((int)PacketKind.Initial, version);
                data.Add((int)PacketKind.ZeroRtt, version);
                data.Add((int)PacketKind.Handshake, version);
            }

            return data;
        }
    }

    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [MemberData(nameof(LongKinds))]
    public void A_long_header_is_read(int kindValue, uint version)
    {
        var kind = (PacketKind)kindValue;
        byte[] packet = PacketSamples.Write(kind, version, [1, 1, 1]);
        byte[] datagram = [.. packet, 0xAA, 0xBB];

        Assert.True(PacketHeader.TryParse(datagram, 8, out PacketHeader header));
        Assert.Equal(kind, header.Kind);
        Assert.Equal(version, header.Version);
        Assert.Equal(PacketSamples.Destination.AsSpan, header.DestinationId);
        Assert.Equal(PacketSamples.Source.AsSpan, header.SourceId);
        Assert.Equal(kind == PacketKind.Initial ? PacketSamples.Token : [], header.Token);
        Assert.Equal(packet.Length, header.PacketLength);
        Assert.Equal(packet.Length - 2 - 3 - 16, header.NumberOffset);
        Assert.True(header.IsLong && header.IsProtected);
    }

    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [MemberData(nameof(LongKinds))]
    public void A_long_header_that_is_cut_off_is_dropped_at_each_length(int kindValue, uint version)
    {
        var kind = (PacketKind)kindValue;
        byte[] packet = PacketSamples.Write(kind, version, [1, 1, 1]);
        for (int length = 0; length < packet.Length; length++)
        {
            Assert.False(PacketHeader.TryParse(packet.AsSpan(0, length), 8, out _));
        }
    }

    /// <summary>RFC 9369, section 3.2: Initial 01, 0-RTT 10, Handshake 11, Retry 00.</summary>
    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [Trait("Rfc", "9369-3.2")]
    [InlineData((int)PacketKind.Initial, 0b00, 0b01)]
    [InlineData((int)PacketKind.ZeroRtt, 0b01, 0b10)]
    [InlineData((int)PacketKind.Handshake, 0b10, 0b11)]
    [InlineData((int)PacketKind.Retry, 0b11, 0b00)]
    public void Versions_encode_the_type_in_their_own_bits(int kindValue, int version1, int version2)
    {
        var kind = (PacketKind)kindValue;
        Assert.Equal(version1, QuicVersion.TypeBits(QuicVersion.Version1, kind));
        Assert.Equal(version2, QuicVersion.TypeBits(QuicVersion.Version2, kind));
        Assert.Equal(kind, QuicVersion.KindOf(QuicVersion.Version1, version1));
        Assert.Equal(kind, QuicVersion.KindOf(QuicVersion.Version2, version2));
    }

    [Fact]
    [Trait("Rfc", "9000-17.3.1")]
    public void A_short_header_takes_the_rest_of_the_datagram()
    {
        byte[] packet = PacketSamples.Write(PacketKind.OneRtt, 1, [1, 1, 1]);

        Assert.True(PacketHeader.TryParse(packet, 8, out PacketHeader header));
        Assert.Equal(PacketKind.OneRtt, header.Kind);
        Assert.Equal(PacketSamples.Destination.AsSpan, header.DestinationId);
        Assert.Equal(9, header.NumberOffset);
        Assert.Equal(packet.Length, header.PacketLength);
        Assert.False(header.IsLong);
        Assert.False(PacketHeader.TryParse(packet.AsSpan(0, 9), 8, out _));
        Assert.True(PacketHeader.TryParse(packet, 0, out header) && header.DestinationId.IsEmpty);
    }

    [Fact]
    [Trait("Rfc", "9000-12.2")]
    public void Coalesced_packets_are_read_one_after_the_other()
    {
        byte[] datagram =
        [
            .. PacketSamples.Write(PacketKind.Initial, 1, [1]),
            .. PacketSamples.Write(PacketKind.Handshake, 1, [1, 1]),
            .. PacketSamples.Write(PacketKind.OneRtt, 1, [1, 1, 1]),
        ];
        List<PacketKind> kinds = [];
        for (int offset = 0; offset < datagram.Length;)
        {
            Assert.True(PacketHeader.TryParse(datagram.AsSpan(offset), 8, out PacketHeader header));
            kinds.Add(header.Kind);
            offset += header.PacketLength;
        }

        Assert.Equal([PacketKind.Initial, PacketKind.Handshake, PacketKind.OneRtt], kinds);
    }

    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [Trait("Rfc", "9000-17.3.1")]
    [InlineData((int)PacketKind.Initial)]
    [InlineData((int)PacketKind.OneRtt)]
    public void A_packet_without_the_fixed_bit_is_dropped(int kindValue)
    {
        var kind = (PacketKind)kindValue;
        byte[] packet = PacketSamples.Write(kind, 1, [1]);
        packet[0] &= 0xBF;

        Assert.False(PacketHeader.TryParse(packet, 8, out _));
    }

    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [InlineData(QuicVersion.Version1, false)]
    [InlineData(QuicVersion.Version2, false)]
    [InlineData(0x0A1A2A3Au, true)]
    [InlineData(0u, true)]
    public void Ids_beyond_20_bytes_are_taken_of_other_versions_only(uint version, bool isTaken)
    {
        byte[] id = [.. Enumerable.Range(0, 200).Select(i => (byte)i)];
        var datagram = new byte[1199];
        int length = LongHeader.Write(datagram, 0xC0, version, id, id);

        Assert.Equal(isTaken, PacketHeader.TryParse(datagram, 8, out PacketHeader header));
        if (isTaken)
        {
            Assert.Equal(version == 0 ? PacketKind.VersionNegotiation : PacketKind.UnsupportedVersion, header.Kind);
            Assert.Equal(id, header.DestinationId);
            Assert.Equal(id, header.SourceId);
            Assert.False(header.IsProtected);
            Assert.False(PacketHeader.TryParse(datagram.AsSpan(0, length - 1), 8, out _));
        }
    }

    [Fact]
    [Trait("Rfc", "9000-17.2")]
    public void A_length_or_a_token_beyond_the_datagram_is_dropped()
    {
        byte[] packet = PacketSamples.Write(PacketKind.Initial, 1, [1]);
        int tokenOffset = LongHeader.Size(8, 5);
        byte[] changed = [.. packet];
        changed[tokenOffset] = 0x3F;
        Assert.False(PacketHeader.TryParse(changed, 8, out _));

        changed = [.. packet];
        changed[tokenOffset + 1 + PacketSamples.Token.Length] = 0x7F;
        Assert.False(PacketHeader.TryParse(changed, 8, out _));
        changed[tokenOffset + 1 + PacketSamples.Token.Length] = 0xFF;
        Assert.False(PacketHeader.TryParse(changed, 8, out _));
    }

    [Fact]
    [Trait("Rfc", "9001-5.4.2")]
    public void A_packet_too_short_for_a_sample_parses_but_cannot_be_unprotected()
    {
        var buffer = new byte[100];
        int offset = LongHeader.Write(buffer, 0xE0, 1, [1], []);
        buffer[offset] = 19;
        Assert.True(PacketHeader.TryParse(buffer, 8, out PacketHeader header));
        Assert.Equal(offset + 20, header.PacketLength);

        Assert.False(PacketOpener.TryUnprotect(buffer, header, new PlainProtector(1), -1, out _));
        buffer[offset] = 20;
        Assert.True(PacketHeader.TryParse(buffer, 8, out header));
        Assert.True(PacketOpener.TryUnprotect(buffer, header, new PlainProtector(1), -1, out _));
    }

    [Fact]
    public void Versions_with_the_pattern_are_reserved()
    {
        Assert.True(QuicVersion.IsReserved(QuicVersion.Grease));
        Assert.False(QuicVersion.IsReserved(QuicVersion.Version1));
        Assert.False(QuicVersion.IsReserved(QuicVersion.Version2));
        Assert.False(QuicVersion.IsSupported(QuicVersion.Grease));
    }
}
