using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>How connections end, and what is sent after that (RFC 9000, sections 10 and 11).</summary>
public sealed class ClosingTests
{
    private readonly List<PacketLog> _ends = [];

    private PacketLog Client => _ends.Single(static end => !end.IsServer);

    [Fact]
    [Trait("Rfc", "9000-10.2.3")]
    public void After_the_handshake_a_close_is_in_a_packet_of_1_rtt_keys_alone()
    {
        using QuicPair pair = Connect();
        int before = Client.Sent.Count;
        pair.ClientConnection!.Close(7, "", pair.Now);
        pair.Run(5);
        Assert.Equal([(PacketKind.OneRtt, "application close 7 ")], Client.Sent.Skip(before).Select(static packet => (packet.Kind, packet.Frames)));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2.1")]
    public void A_closing_end_answers_with_no_more_than_three_times_what_it_receives()
    {
        using QuicPair pair = Connect();
        Assert.True(pair.ClientConnection!.PeerIds.TryGet(0, out ConnectionId id));
        pair.Drops = static (fromClient, _) => !fromClient;
        pair.ServerConnection!.Close(7, new string('x', 255), pair.Now);
        pair.Run(1);
        pair.Sent.Clear();
        for (int i = 0; i < 40; i++)
        {
            pair.Send(true, [0x40, .. id.AsSpan, .. new byte[15]], QuicPair.ClientAddress, QuicPair.ServerAddress);
            pair.Run(1);
            Assert.InRange(LengthOf(pair, fromClient: false), 0, 3 * LengthOf(pair, fromClient: true));
        }

        Assert.NotEqual(0, LengthOf(pair, fromClient: false));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2.1")]
    public void A_closing_end_answers_to_the_address_of_the_connection_whoever_sends()
    {
        using QuicPair pair = Connect();
        Assert.True(pair.ClientConnection!.PeerIds.TryGet(0, out ConnectionId id));
        QuicConnection server = pair.ServerConnection!;
        server.Close(7, "", pair.Now);
        byte[] buffer = new byte[2_000];
        List<PathAddress> targets = [];
        for (int i = 0; i < 20; i++)
        {
            while (server.Send(buffer, 1, out DatagramInfo info, pair.Now) > 0)
            {
                targets.Add(info.Remote);
            }

            byte[] datagram = [0x40, .. id.AsSpan, .. new byte[100]];
            pair.Server.Receive(
                datagram, PathAddress.FromIPv4(0x0A000099, 6000), QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out int length, pair.Now);
            Assert.Equal(0, length);
        }

        Assert.InRange(targets.Count, 2, 6);
        Assert.All(targets, static target => Assert.Equal(QuicPair.ClientAddress, target));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2.1")]
    public void A_server_that_closes_before_it_knows_the_address_sends_three_times_what_it_received()
    {
        using QuicPair pair = new() { CertificateLength = 30_000, Drops = static (fromClient, _) => !fromClient };
        pair.Connect();
        pair.Run(100);
        pair.ServerConnection!.Close(7, "", pair.Now);
        for (int i = 0; i < 20; i++)
        {
            pair.Run(100);
            Assert.InRange(LengthOf(pair, fromClient: false), 3_000, 3 * LengthOf(pair, fromClient: true));
        }
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.1")]
    public void A_closing_end_that_is_reset_sends_nothing_more()
    {
        using QuicPair pair = Connect();
        byte[] reset = [0x40, .. new byte[20], .. BitConverter.GetBytes(pair.ServerConnection!.LocalIds.FirstResetToken)];
        reset.AsSpan(21).Reverse();
        pair.Drops = static (_, _) => true;
        pair.ClientConnection!.Close(7, "", pair.Now);
        pair.Run(1);
        pair.Drops = static (_, _) => false;
        pair.Sent.Clear();
        pair.Send(false, reset, QuicPair.ServerAddress, QuicPair.ClientAddress);
        pair.Run(2);
        pair.Inject(fromClient: false, PacketKind.OneRtt, [1]);
        pair.Run(2);
        Assert.Equal([false, false], pair.Sent.Select(static sent => sent.FromClient));
    }

    [Theory]
    [Trait("Rfc", "9000-10.3")]
    [Trait("Rfc", "9000-10.3.1")]
    [InlineData(0x40, 0, false)]
    [InlineData(0x40, 0, true)]
    [InlineData(0xC0, 1, false)]
    [InlineData(0xE0, 1, true)]
    [InlineData(0xC0, 0x0A1A2A3A, true)]
    [InlineData(0x00, 0, false)]
    public void A_datagram_that_does_not_open_and_ends_with_the_token_is_a_reset(byte first, uint version, bool hasId)
    {
        using QuicPair pair = Connect();
        byte[] token = BitConverter.GetBytes(pair.ServerConnection!.LocalIds.FirstResetToken);
        token.AsSpan().Reverse();
        byte[] id = hasId ? pair.ClientConnection!.LocalIds.First.AsSpan.ToArray() : [9, 8, 7, 6, 5, 4, 3, 2];
        byte[] header = (first & 0x80) == 0
            ? [first, .. id]
            : [first, (byte)(version >> 24), (byte)(version >> 16), (byte)(version >> 8), (byte)version, 8, .. id, 0, 0x40, 0x38];
        foreach (bool isChanged in (bool[])[true, false])
        {
            byte[] datagram = [.. header, .. new byte[40], .. token];
            datagram[^1] ^= (byte)(isChanged ? 1 : 0);
            Assert.Null(pair.ClientHandler.Reason);
            pair.Send(false, datagram, QuicPair.ServerAddress, QuicPair.ClientAddress);
            pair.Run(2);
        }

        Assert.Equal(CloseSource.StatelessReset, pair.ClientHandler.Reason?.Source);
    }

    [Fact]
    [Trait("Rfc", "9000-11")]
    [Trait("Rfc", "9000-21.11")]
    public void A_packet_of_a_known_connection_that_does_not_open_is_not_answered()
    {
        using QuicPair pair = Connect();
        pair.Drops = static (_, _) => true;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1], padTo: 100);
        byte[] damaged = [.. pair.Sent[^1].Bytes];
        damaged[^1] ^= 1;
        pair.Drops = static (_, _) => false;
        pair.Sent.Clear();
        pair.Send(true, damaged, QuicPair.ClientAddress, QuicPair.ServerAddress);
        pair.Run(5);
        Assert.Single(pair.Sent);
    }

    [Fact]
    [Trait("Rfc", "9000-11.2")]
    public void The_end_of_a_connection_resets_no_stream()
    {
        using QuicPair pair = Connect();
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(new byte[10_000]);
        pair.Run(5);
        pair.ClientConnection.Close(7, "", pair.Now);
        pair.Run(1_000);
        Assert.Equal(CloseSource.Peer, pair.ServerHandler.Reason!.Value.Source);
        Assert.All(_ends, static end => Assert.DoesNotContain(end.Sent, static packet => packet.Frames.Contains("reset", StringComparison.Ordinal)));
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.2")]
    public void Ids_have_one_length_and_each_has_a_token_of_its_own()
    {
        EndpointTable table = new(new TestCryptography(1), default);
        HashSet<ConnectionId> ids = [];
        HashSet<UInt128> tokens = [];
        for (int i = 0; i < 10_000; i++)
        {
            ConnectionId id = table.Create(null!, out UInt128 token);
            Assert.Equal(EndpointTable.IdLength, id.Length);
            Assert.True(ids.Add(id) && tokens.Add(token));
        }
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.1")]
    public void Tokens_are_looked_up_by_their_keyed_hash_so_that_times_say_nothing_of_them()
    {
        TestCryptography cryptography = new(1);
        EndpointTable table = new(cryptography, default);
        byte[] datagram = [.. new byte[30], .. Enumerable.Range(0, 16).Select(static i => (byte)i)];
        Assert.False(table.TryFindReset(datagram, out _));
        using QuicPair pair = new();
        table.AddResetToken(pair.Connect(), System.Buffers.Binary.BinaryPrimitives.ReadUInt128BigEndian(datagram.AsSpan(30)));
        int before = cryptography.KeyedHashes;
        Assert.True(table.TryFindReset(datagram, out _));
        Assert.Equal(before + 1, cryptography.KeyedHashes);
        datagram[30] ^= 1;
        Assert.False(table.TryFindReset(datagram, out _));
        Assert.Equal(before + 2, cryptography.KeyedHashes);
    }

    private static int LengthOf(QuicPair pair, bool fromClient) =>
        pair.Sent.Where(sent => sent.FromClient == fromClient).Sum(static sent => sent.Bytes.Length);

    private QuicPair Connect()
    {
        QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(1_000);
        Assert.True(pair.ClientConnection!.Handshake.IsConfirmed);
        return pair;
    }
}
