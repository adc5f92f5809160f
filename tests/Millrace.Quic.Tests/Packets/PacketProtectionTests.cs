using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Packets;

/// <summary><see cref="PacketWriter"/> and <see cref="PacketOpener"/>.</summary>
public class PacketProtectionTests
{
    public static TheoryData<int, uint, int> Packets
    {
        get
        {
            var data = new TheoryData<int, uint, int>();
            foreach (uint version in QuicVersion.Supported)
            {
                foreach (PacketKind kind in new[] { PacketKind.Initial, PacketKind.ZeroRtt, PacketKind.Handshake, PacketKind.OneRtt })
                {
                    for (int numberLength = 1; numberLength <= 4; numberLength++)
                    {
                        data.Add((int)kind, version, numberLength);
                    }
                }
            }

            return data;
        }
    }

    [Theory]
    [Trait("Rfc", "9001-5.4.1")]
    [MemberData(nameof(Packets))]
    public void What_is_written_opens(int kindValue, uint version, int numberLength)
    {
        var kind = (PacketKind)kindValue;
        byte[] frames = [.. Enumerable.Range(0, 100).Select(i => (byte)(i * 7))];
        byte[] packet = PacketSamples.Write(kind, version, frames, number: 0x1234_5678, numberLength);

        byte[]? opened = PacketSamples.Open(packet, largest: 0x1234_5670, out long number, out PacketKind openedKind);

        Assert.Equal(frames, opened);
        Assert.Equal(0x1234_5678, number);
        Assert.Equal(kind, openedKind);
    }

    [Theory]
    [Trait("Rfc", "9001-5.4.2")]
    [MemberData(nameof(Packets))]
    public void The_smallest_packet_has_a_sample_and_opens(int kindValue, uint version, int numberLength)
    {
        var kind = (PacketKind)kindValue;
        byte[] packet = PacketSamples.Write(kind, version, PacketSamples.Ping, 3, numberLength);

        byte[]? opened = PacketSamples.Open(packet, 2, out _, out _);

        Assert.Equal(Math.Max(1, 4 - numberLength), opened!.Length);
        Assert.Equal(1, opened[0]);
        Assert.All(opened[1..], value => Assert.Equal(0, value));
    }

    [Theory]
    [Trait("Rfc", "9001-5.3")]
    [InlineData((int)PacketKind.Initial)]
    [InlineData((int)PacketKind.OneRtt)]
    public void A_packet_with_any_bit_changed_does_not_open(int kindValue)
    {
        var kind = (PacketKind)kindValue;
        byte[] packet = PacketSamples.Write(kind, 1, [1, 2, 3, 4, 5]);
        for (int bit = 0; bit < 8 * packet.Length; bit++)
        {
            byte[] changed = [.. packet];
            changed[bit / 8] ^= (byte)(1 << (bit % 8));

            Assert.Null(PacketSamples.Open(changed, 4, out _, out _));
        }
    }

    [Theory]
    [Trait("Rfc", "9000-17.2")]
    [InlineData((int)PacketKind.Handshake, 0x04)]
    [InlineData((int)PacketKind.Handshake, 0x08)]
    [InlineData((int)PacketKind.OneRtt, 0x08)]
    [InlineData((int)PacketKind.OneRtt, 0x10)]
    public void Reserved_bits_are_found_in_an_authentic_packet(int kindValue, byte bit)
    {
        var kind = (PacketKind)kindValue;
        var protector = new PlainProtector(PacketSamples.Key);
        var buffer = new byte[200];
        PacketSamples.TryBegin(buffer, kind, 1, 5, 2, keyPhase: false, out PacketWriter writer);
        buffer[0] |= bit;
        int length = writer.Finish(protector, 10);
        Assert.True(PacketHeader.TryParse(buffer.AsSpan(0, length), 8, out PacketHeader header));
        Assert.True(PacketOpener.TryUnprotect(buffer, header, protector, 4, out PacketOpener opener));

        Assert.True(opener.TryOpen(protector, out _));
        Assert.True(opener.HasReservedBits);

        byte[] usual = PacketSamples.Write(kind, 1, PacketSamples.Ping);
        Assert.True(PacketHeader.TryParse(usual, 8, out header));
        Assert.True(PacketOpener.TryUnprotect(usual, header, protector, 4, out opener));
        Assert.False(opener.HasReservedBits);
    }

    [Theory]
    [Trait("Rfc", "9000-17.3.1")]
    [InlineData(false, false)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public void Key_phase_and_spin_bit_are_known_before_the_payload_opens(bool keyPhase, bool spin)
    {
        var protector = new PlainProtector(PacketSamples.Key);
        var buffer = new byte[200];
        Assert.True(PacketWriter.TryBeginShort(buffer, PacketSamples.Destination, spin, keyPhase, 5, 1, out PacketWriter writer));
        int length = writer.Finish(protector, 10);
        Assert.True(PacketHeader.TryParse(buffer.AsSpan(0, length), 8, out PacketHeader header));
        Assert.True(PacketOpener.TryUnprotect(buffer, header, protector, 4, out PacketOpener opener));

        Assert.Equal((keyPhase, spin), (opener.KeyPhase, opener.Spin));
        Assert.True(opener.TryOpen(protector, out _));
    }

    [Theory]
    [Trait("Rfc", "9001-6.3")]
    [InlineData(false)]
    [InlineData(true)]
    public void Keys_of_the_next_generation_open_with_the_same_header_protection(bool isUpdated)
    {
        using var keys = new PlainProtector(PacketSamples.Key);
        using PacketProtector next = keys.Update();
        byte[] packet = PacketSamples.Write(PacketKind.OneRtt, 1, [1, 2, 3, 4], isUpdated ? next : keys, 9, 2, 0, isUpdated);
        Assert.True(PacketHeader.TryParse(packet, 8, out PacketHeader header));
        Assert.True(PacketOpener.TryUnprotect(packet, header, keys, 8, out PacketOpener opener));

        Assert.Equal(isUpdated, opener.KeyPhase);
        Assert.Equal(9, opener.Number);
        Assert.True(opener.TryOpen(isUpdated ? next : keys, out ReadOnlySpan<byte> payload));
        Assert.Equal((byte[])[1, 2, 3, 4], payload);
    }

    [Theory]
    [Trait("Rfc", "9000-14.1")]
    [InlineData((int)PacketKind.Initial)]
    [InlineData((int)PacketKind.Handshake)]
    [InlineData((int)PacketKind.OneRtt)]
    public void A_packet_is_padded_to_a_size_within_its_buffer(int kindValue)
    {
        var kind = (PacketKind)kindValue;
        byte[] packet = PacketSamples.Write(kind, 1, PacketSamples.Ping, padTo: 1200);
        Assert.Equal(1200, packet.Length);
        byte[]? opened = PacketSamples.Open(packet, 4, out _, out _);
        Assert.Equal(1, opened![0]);
        Assert.All(opened[1..], value => Assert.Equal(0, value));

        Assert.Equal(1500, PacketSamples.Write(kind, 1, PacketSamples.Ping, padTo: 5000).Length);
    }

    /// <summary>What is seen of a packet that fills its room, its size and time, is the same for every length of its number.</summary>
    [Theory]
    [Trait("Rfc", "9001-9.5")]
    [InlineData((int)PacketKind.Initial)]
    [InlineData((int)PacketKind.Handshake)]
    [InlineData((int)PacketKind.OneRtt)]
    public void A_packet_is_sealed_and_masked_once_whatever_the_length_of_its_number(int kindValue)
    {
        for (int numberLength = 1; numberLength <= 4; numberLength++)
        {
            var counts = new ProtectorCounts();
            using var protector = new PlainProtector(PacketSamples.Key, counts);
            byte[] packet = PacketSamples.Write((PacketKind)kindValue, 1, [1, 2, 3], protector, 5, numberLength, padTo: 1200);
            Assert.Equal((1200, 1, 1), (packet.Length, counts.Sealed, counts.Masks));
            Assert.Equal((0, 0), (counts.Derived, counts.Opened));
        }
    }

    [Fact]
    public void Padding_clears_what_was_in_the_buffer_before()
    {
        byte[] buffer = [.. Enumerable.Repeat((byte)0xEE, 300)];
        PacketSamples.TryBegin(buffer, PacketKind.OneRtt, 1, 5, 2, keyPhase: false, out PacketWriter writer);
        writer.Frames[0] = 1;
        int length = writer.Finish(new PlainProtector(PacketSamples.Key), 1, 200);

        Assert.Equal([1, .. new byte[200 - 11 - 16 - 1]], PacketSamples.Open(buffer[..length], 4, out _, out _)!);
    }

    [Theory]
    [InlineData((int)PacketKind.Initial)]
    [InlineData((int)PacketKind.Handshake)]
    [InlineData((int)PacketKind.OneRtt)]
    public void A_packet_begins_only_where_a_frame_has_room(int kindValue)
    {
        var kind = (PacketKind)kindValue;
        int least = Enumerable.Range(0, 200).First(
            size => PacketSamples.TryBegin(new byte[size], kind, 1, 5, 4, keyPhase: false, out _));
        var buffer = new byte[least];
        PacketSamples.TryBegin(buffer, kind, 1, 5, 4, keyPhase: false, out PacketWriter writer);

        Assert.Equal(4, writer.Frames.Length);
        Assert.Equal(least - 4, writer.Overhead);
        Assert.Equal(least, writer.Finish(new PlainProtector(PacketSamples.Key), 4));
        Assert.False(PacketSamples.TryBegin(new byte[least - 1], kind, 1, 5, 4, keyPhase: false, out _));
    }

    [Fact]
    public void A_long_packet_is_no_longer_than_its_length_field_can_say()
    {
        var buffer = new byte[40_000];
        PacketSamples.TryBegin(buffer, PacketKind.Handshake, 1, 5, 4, keyPhase: false, out PacketWriter writer);
        int length = writer.Finish(new PlainProtector(PacketSamples.Key), writer.Frames.Length);

        Assert.True(PacketHeader.TryParse(buffer, 8, out PacketHeader header));
        Assert.Equal(length, header.PacketLength);
        Assert.NotNull(PacketSamples.Open(buffer[..length], 4, out _, out _));
    }

    [Fact]
    public void A_number_beyond_62_bits_does_not_open()
    {
        byte[] packet = PacketSamples.Write(PacketKind.OneRtt, 1, PacketSamples.Ping, number: 5, numberLength: 1);
        Assert.True(PacketHeader.TryParse(packet, 8, out PacketHeader header));

        Assert.False(PacketOpener.TryUnprotect(packet, header, new PlainProtector(PacketSamples.Key), PacketNumbers.Max, out _));
    }

    [Fact]
    public void Writing_and_opening_allocate_nothing()
    {
        var buffer = new byte[1200];
        var keys = new PlainProtector(PacketSamples.Key);
        long number = 0;

        Assert.Equal(0, Allocations.OfEach(() =>
        {
            number++;
            PacketSamples.TryBegin(buffer, PacketKind.Initial, 1, number, 2, keyPhase: false, out PacketWriter writer);
            int length = writer.Finish(keys, 500);
            if (!PacketHeader.TryParse(buffer.AsSpan(0, length), 8, out PacketHeader header)
                || !PacketOpener.TryUnprotect(buffer, header, keys, number - 1, out PacketOpener opener)
                || !opener.TryOpen(keys, out _))
            {
                throw new InvalidOperationException();
            }
        }));
    }
}
