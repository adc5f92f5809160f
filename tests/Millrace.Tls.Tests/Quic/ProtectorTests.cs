using Millrace.Quic.Packets;
using Millrace.Quic.Protection;
using Millrace.Tests.Shared;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Tests.Quic;

public class ProtectorTests
{
    public static TheoryData<string> Suites => ["AES-128", "AES-256", "ChaCha20"];

    [Theory]
    [MemberData(nameof(Suites))]
    [Trait("Rfc", "9001-5.3")]
    public void What_one_end_seals_the_other_opens_whatever_its_length_and_number(string name)
    {
        using OpenSslPacketProtector sender = Protector(name);
        using OpenSslPacketProtector receiver = Protector(name);
        long number = 0;
        foreach (int length in (int[])[0, 1, 3, 15, 16, 17, 1200, 1452, 65_000])
        {
            byte[] header = [.. Enumerable.Range(0, 7 + (length % 20)).Select(static i => (byte)i)];
            byte[] plain = [.. Enumerable.Range(0, length).Select(static i => (byte)(i * 7))];
            byte[] packet = [.. plain, .. new byte[PacketProtector.TagLength]];
            sender.Seal(number, header, packet);
            Assert.True(length < 3 || !packet.AsSpan(0, length).SequenceEqual(plain));
            Assert.True(receiver.TryOpen(number, header, packet));
            Assert.Equal(plain, packet[..length]);
            number = (number * 31) + 1_000_003;
        }

        byte[] last = new byte[20];
        sender.Seal((1L << 62) - 1, [1], last);
        Assert.True(receiver.TryOpen((1L << 62) - 1, [1], last));
    }

    [Theory]
    [MemberData(nameof(Suites))]
    [Trait("Rfc", "9001-5.3")]
    public void A_payload_in_pieces_is_sealed_as_if_they_had_been_copied_and_the_pieces_stay_as_they_are(string name)
    {
        using OpenSslPacketProtector protector = Protector(name);
        byte[] memory = GC.AllocateArray<byte>(4_000, pinned: true);
        new Random(1).NextBytes(memory);
        byte[] before = [.. memory];
        var pieces = new PayloadPieces();
        foreach ((int head, int first, int between, int second, int tail) in ((int, int, int, int, int)[])
            [(0, 1_200, 0, 0, 0), (12, 1_200, 0, 0, 0), (5, 300, 0, 901, 3), (5, 255, 9, 257, 0), (33, 272, 1, 256, 64), (9, 3, 9, 4, 9)])
        {
            byte[] whole = [.. memory.AsSpan(3, head), .. memory.AsSpan(100, first), .. memory.AsSpan(7, between),
                .. memory.AsSpan(2_000, second), .. memory.AsSpan(11, tail), .. new byte[PacketProtector.TagLength]];
            byte[] packet = [.. whole];
            Span<byte> room = packet.AsSpan(head, first);
            room.Clear();
            pieces.Clear();
            pieces.Append(head, memory.AsSpan(100, first), room);
            room = packet.AsSpan(head + first + between, second);
            room.Clear();
            pieces.Append(head + first + between, memory.AsSpan(2_000, second), room);
            protector.Seal(head, [1, 2, 3], whole);
            protector.Seal(head, [1, 2, 3], packet, pieces);
            Assert.Equal(whole, packet);
        }

        Assert.Equal(before, memory);
    }

    [Theory]
    [MemberData(nameof(Suites))]
    [Trait("Rfc", "9001-5.3")]
    public void A_packet_with_any_changed_byte_another_number_or_no_room_for_a_tag_is_not_opened_and_the_next_is(string name)
    {
        using OpenSslPacketProtector sender = Protector(name);
        using OpenSslPacketProtector receiver = Protector(name);
        byte[] header = [0x41, 2, 3, 4];
        byte[] genuine = new byte[40];
        sender.Seal(5, header, genuine);
        for (int i = 0; i < genuine.Length; i++)
        {
            byte[] forged = [.. genuine];
            forged[i] ^= 0x10;
            Assert.False(receiver.TryOpen(5, header, forged));
        }

        Assert.False(receiver.TryOpen(6, header, [.. genuine]));
        Assert.False(receiver.TryOpen(5, [0x41, 2, 3, 5], [.. genuine]));
        Assert.False(receiver.TryOpen(5, header, genuine.AsSpan(0, 30).ToArray()));
        Assert.False(receiver.TryOpen(5, header, new byte[PacketProtector.TagLength]));
        Assert.False(receiver.TryOpen(5, header, new byte[PacketProtector.TagLength - 1]));
        Assert.False(receiver.TryOpen(5, header, []));
        Assert.True(receiver.TryOpen(5, header, [.. genuine]));
    }

    [Theory]
    [MemberData(nameof(Suites))]
    [Trait("Rfc", "9001-6")]
    public void Keys_that_are_updated_many_times_at_both_ends_agree_and_open_no_packet_of_another_generation(string name)
    {
        PacketProtector sender = Protector(name);
        PacketProtector receiver = Protector(name);
        for (int generation = 0; generation < 20; generation++)
        {
            byte[] packet = new byte[50];
            sender.Seal(generation, [1], packet);
            PacketProtector next = receiver.Update();
            Assert.False(next.TryOpen(generation, [1], [.. packet]));
            Assert.True(receiver.TryOpen(generation, [1], packet));
            PacketProtector nextSender = sender.Update();
            sender.Dispose();
            receiver.Dispose();
            (sender, receiver) = (nextSender, next);
        }

        sender.Dispose();
        receiver.Dispose();
    }

    /// <summary>OpenSSL's context, with its schedule of the key, is what the first packet would make otherwise.</summary>
    [Theory]
    [MemberData(nameof(Suites))]
    [Trait("Rfc", "9001-6.3")]
    public void Keys_can_be_prepared_before_the_first_packet_that_they_open(string name)
    {
        using OpenSslPacketProtector sender = Protector(name);
        using OpenSslPacketProtector current = Protector(name);
        using var next = (OpenSslPacketProtector)current.Update();
        using PacketProtector nextOfSender = sender.Update();
        Assert.False(next.IsPreparedToOpen);
        next.PrepareToOpen();
        Assert.True(next.IsPreparedToOpen);
        byte[] packet = new byte[40];
        nextOfSender.Seal(7, [1], packet);
        Assert.True(next.TryOpen(7, [1], packet));
    }

    [Theory]
    [InlineData("AES-128", 1L << 23, 1L << 52)]
    [InlineData("AES-256", 1L << 23, 1L << 52)]
    [InlineData("ChaCha20", 1L << 62, 1L << 36)]
    [Trait("Rfc", "9001-6.6")]
    public void The_limits_of_a_suite_are_those_of_the_rfc(string name, long confidentiality, long integrity)
    {
        using OpenSslPacketProtector protector = Protector(name);
        Assert.Equal(confidentiality, protector.ConfidentialityLimit);
        Assert.Equal(integrity, protector.IntegrityLimit);
    }

    [Theory]
    [MemberData(nameof(Suites))]
    public void A_packet_is_sealed_opened_and_its_header_masked_without_an_allocation(string name)
    {
        using OpenSslPacketProtector sender = Protector(name);
        using OpenSslPacketProtector receiver = Protector(name);
        byte[] packet = new byte[1200];
        byte[] forged = new byte[1200];
        byte[] header = new byte[9];
        byte[] mask = new byte[PacketProtector.MaskLength];
        long allocated = Allocations.OfEach(() =>
        {
            for (int i = 0; i < 100; i++)
            {
                sender.Seal(i, header, packet);
                sender.GetHeaderMask(packet, mask);
                receiver.GetHeaderMask(packet, mask);
                Assert.True(receiver.TryOpen(i, header, packet));
                Assert.False(receiver.TryOpen(i, header, forged));
            }
        });

        Assert.Equal(0, allocated);
    }

    private static OpenSslPacketProtector Protector(string name)
    {
        QuicCipherSuite suite = name switch
        {
            "AES-128" => QuicCipherSuite.Aes128,
            "AES-256" => QuicCipherSuite.Aes256,
            _ => QuicCipherSuite.ChaCha20,
        };
        byte[] secret = [.. Enumerable.Range(1, suite.SecretLength).Select(static i => (byte)i)];
        return new OpenSslPacketProtector(suite, VersionKeys.Version1, secret);
    }
}
