using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Which packets are sent when, and which of those received count.</summary>
public sealed class PacketRuleTests
{
    private readonly List<PacketLog> _ends = [];

    private PacketLog Client => _ends.Single(static end => !end.IsServer);

    private PacketLog Server => _ends.Single(static end => end.IsServer);

    [Fact]
    [Trait("Rfc", "9000-12.3")]
    [Trait("Rfc", "9000-13.2.6")]
    public void Numbers_rise_and_acknowledgements_are_of_packets_of_their_own_space()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.ServerHandler.Echoes = true;
        pair.Connect();
        pair.Run(200);
        Write(pair, 50_000);
        pair.Run(1_000);
        foreach (PacketLog end in _ends)
        {
            foreach (PacketKind kind in (PacketKind[])[PacketKind.Initial, PacketKind.Handshake, PacketKind.OneRtt])
            {
                var sent = end.Sent.Where(packet => packet.Kind == kind).ToList();
                Assert.True(sent.Zip(sent.Skip(1)).All(static pair => pair.First.Number < pair.Second.Number));
                long[] acked = [.. sent.SelectMany(static packet => Acked(packet.Frames)).Distinct().Order()];
                Assert.True(acked.Length > 0 || kind != PacketKind.OneRtt);
                Assert.Subset(end.Received.Where(packet => packet.Kind == kind).Select(static packet => packet.Number).ToHashSet(), acked.ToHashSet());
            }
        }
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void Nothing_answers_an_acknowledgement()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(5_000);
        int sent = pair.Sent.Count;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [2, 0, 0, 0, 0]);
        pair.Run(2_000);
        Assert.Equal(sent + 1, pair.Sent.Count);
        Assert.Equal("ack 0-0 delay 0", Server.Received[^1].Frames);
    }

    [Fact]
    [Trait("Rfc", "9000-12.3")]
    public void A_packet_that_comes_again_is_not_taken_again()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(200);
        pair.Inject(fromClient: true, PacketKind.OneRtt, [0x0A, 0, 1, 7]);
        byte[] bytes = [.. pair.Sent[^1].Bytes];
        pair.Run(100);
        int received = Server.Received.Count;
        pair.Send(true, bytes, QuicPair.ClientAddress, QuicPair.ServerAddress);
        pair.Run(10);
        Assert.Equal(received, Server.Received.Count);
        Assert.Equal([7], pair.ServerHandler.Received);
    }

    [Fact]
    [Trait("Rfc", "9000-12.2")]
    public void A_packet_that_does_not_open_leaves_those_behind_it_to_be_read()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        int damaged = 0;
        pair.Drops = (fromClient, bytes) =>
        {
            if (fromClient && PacketHeader.TryParse(bytes, 8, out PacketHeader first) && first.Kind == PacketKind.Initial
                && PacketHeader.TryParse(bytes.AsSpan(first.PacketLength), 8, out PacketHeader second) && second.Kind == PacketKind.Handshake)
            {
                bytes[first.PacketLength - 1] ^= 1;
                damaged++;
            }

            return false;
        };
        pair.Connect();
        pair.Run(10);
        Assert.InRange(damaged, 1, 2);
        Assert.True(pair.ServerHandler.IsComplete);
        Assert.Single(Server.Received, static packet => packet.Kind == PacketKind.Initial);
        Assert.Equal(
            Client.Sent.Where(static packet => packet.Kind == PacketKind.Handshake),
            Server.Received.Where(static packet => packet.Kind == PacketKind.Handshake));
    }

    [Fact]
    [Trait("Rfc", "9001-4.9.1")]
    [Trait("Rfc", "9001-4.9.2")]
    public void Keys_are_discarded_when_the_next_ones_are_known_to_work()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(2);
        Assert.Contains(Client.Sent, static packet => packet.Kind == PacketKind.Handshake);
        Assert.True(pair.ClientConnection!.Spaces[0].IsDiscarded);
        Assert.False(pair.ServerConnection!.Spaces[0].IsDiscarded);
        pair.Run(1);
        Assert.True(pair.ServerConnection.Spaces[0].IsDiscarded);
        Assert.False(pair.ClientConnection.Handshake.IsConfirmed || pair.ClientConnection.Spaces[1].IsDiscarded);
        pair.Run(100);
        Assert.All(
            (QuicConnection[])[pair.ClientConnection, pair.ServerConnection],
            static end => Assert.True(end.Spaces[0].IsDiscarded && end.Spaces[1].IsDiscarded && !end.Spaces[2].IsDiscarded));
        int handshake = Client.Sent.FindIndex(static packet => packet.Kind == PacketKind.Handshake);
        Assert.DoesNotContain(Client.Sent.Skip(handshake + 1), static packet => packet.Kind == PacketKind.Initial);
        Assert.Contains(Server.Sent, static packet => packet.Frames.Contains("HandshakeDone", StringComparison.Ordinal));
        Assert.Equal(PacketKind.OneRtt, Server.Sent[^1].Kind);
    }

    /// <summary>The keys may be there: TLS can give them that early.</summary>
    [Theory]
    [Trait("Rfc", "9001-5.7")]
    [InlineData(true)]
    [InlineData(false)]
    public void A_1_rtt_packet_is_not_opened_before_the_handshake_is_complete(bool toServer)
    {
        using QuicPair pair = new(PacketLog.Into(_ends)) { HasEarlyKeys = true };
        int flight = 0;
        pair.Drops = (fromClient, bytes) => fromClient == toServer && (bytes[0] & 0x80) != 0 && flight++ > 0;
        pair.Connect();
        pair.Run(2);
        PacketLog receiver = toServer ? Server : Client;
        QuicConnection connection = (toServer ? pair.ServerConnection : pair.ClientConnection)!;
        PairHandler handler = toServer ? pair.ServerHandler : pair.ClientHandler;
        Assert.Equal((true, false), (connection.Keys.CanReceive, connection.Handshake.IsComplete));
        byte[] frame = [0x0A, (byte)(toServer ? 0 : 1), 1, 7];
        pair.Inject(fromClient: toServer, PacketKind.OneRtt, frame);
        byte[] early = [.. pair.Sent[^1].Bytes];
        pair.Run(1);
        Assert.DoesNotContain(receiver.Received, static packet => packet.Kind == PacketKind.OneRtt);
        Assert.Empty(handler.Received);
        Assert.False(connection.SpaceOf(PacketKind.OneRtt).Received.HasUnreported);

        pair.Drops = static (_, _) => false;
        pair.Run(5_000);
        Assert.True(connection.Handshake.IsConfirmed);
        pair.Send(toServer, early, toServer ? QuicPair.ClientAddress : QuicPair.ServerAddress, toServer ? QuicPair.ServerAddress : QuicPair.ClientAddress);
        pair.Run(2);
        Assert.Equal([7], handler.Received);
    }

    /// <summary>All that the client sends is lost: it fills its window, and after that only probes go.</summary>
    [Fact]
    [Trait("Rfc", "9002-7.5")]
    public void Probes_are_sent_beyond_the_congestion_window_and_count_as_in_flight()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Drops = static (fromClient, _) => fromClient;
        Write(pair, 200_000);
        pair.Run(20);
        LossDetection recovery = pair.ClientConnection!.Recovery;
        Assert.False(recovery.Congestion.CanSend(PathMtu.BaseSize));
        long before = recovery.Congestion.BytesInFlight;
        int sent = pair.Sent.Count;
        long expiry = recovery.NextTimeout;
        pair.Run(((expiry - pair.Now) / QuicPair.Millisecond) - 1);
        Assert.Equal((sent, before), (pair.Sent.Count, recovery.Congestion.BytesInFlight));
        Assert.False(recovery.Congestion.CanSend(PathMtu.BaseSize));

        pair.Run(2);
        Assert.Equal(1, recovery.PtoCount);
        byte[][] probes = [.. pair.Sent.Skip(sent).Where(static one => one.FromClient).Select(static one => one.Bytes)];
        Assert.Equal(2, probes.Length);
        Assert.Equal(before + probes.Sum(static bytes => bytes.Length), recovery.Congestion.BytesInFlight);
        Assert.True(recovery.Congestion.BytesInFlight > recovery.Congestion.Window);
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void A_lost_confirmation_of_the_handshake_is_sent_again()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Drops = (fromClient, _) => !fromClient && pair.ServerHandler.IsComplete;
        pair.Connect();
        pair.Run(50);
        Assert.True(pair.ServerConnection!.Handshake.IsConfirmed);
        Assert.False(pair.ClientConnection!.Handshake.IsConfirmed);
        pair.Drops = static (_, _) => false;
        pair.Run(3_000);
        Assert.True(pair.ClientConnection.Handshake.IsConfirmed);
        Assert.InRange(Server.Sent.Count(static packet => packet.Frames.Contains("HandshakeDone", StringComparison.Ordinal)), 2, 10);
    }

    [Fact]
    [Trait("Rfc", "9000-8")]
    [Trait("Rfc", "9000-8.1")]
    public void A_server_sends_three_times_what_it_received_until_it_knows_the_address()
    {
        using QuicPair pair = new() { CertificateLength = 30_000, Drops = static (fromClient, _) => !fromClient };
        pair.Connect();
        for (int i = 0; i < 50; i++)
        {
            pair.Run(100);
            long received = pair.Sent.Where(static sent => sent.FromClient).Sum(static sent => sent.Bytes.Length);
            long sent = pair.Sent.Where(static sent => !sent.FromClient).Sum(static sent => sent.Bytes.Length);
            Assert.InRange(sent, 1, 3 * received);
        }

        Assert.InRange(pair.Sent.Where(static sent => !sent.FromClient).Sum(static sent => sent.Bytes.Length), 3_000, int.MaxValue);
    }

    [Fact]
    [Trait("Rfc", "9000-14.1")]
    public void A_servers_datagrams_with_an_initial_packet_that_asks_for_an_acknowledgement_have_1200_bytes()
    {
        using QuicPair pair = new() { CertificateLength = 10 };
        pair.Connect();
        pair.Run(100);
        byte[] first = pair.Sent.First(static sent => !sent.FromClient).Bytes;
        Assert.Equal(0xC0, first[0] & 0xF0);
        Assert.Equal(1200, first.Length);
    }

    [Fact]
    [Trait("Rfc", "9000-10.2.2")]
    public void An_end_whose_peer_has_closed_sends_nothing_whatever_comes()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Sent.Clear();
        pair.ServerConnection!.Close(1, "", pair.Now);
        pair.Run(5);
        Assert.Equal(CloseSource.Peer, pair.ClientHandler.Reason!.Value.Source);
        pair.Inject(fromClient: false, PacketKind.OneRtt, [1]);
        pair.Run(2_000);
        Assert.NotEmpty(pair.Sent);
        Assert.All(pair.Sent, static sent => Assert.False(sent.FromClient));
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.1")]
    public void An_end_that_was_reset_sends_nothing()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Server.Abort();
        pair.Sent.Clear();
        Write(pair, 100);
        pair.Run(20);
        Assert.Equal(CloseSource.StatelessReset, pair.ClientHandler.Reason!.Value.Source);
        pair.Run(5_000);
        Assert.Equal([true, false], pair.Sent.Select(static sent => sent.FromClient));
    }

    [Fact]
    [Trait("Rfc", "9001-6.6")]
    public void Keys_are_updated_before_they_have_sealed_too_many_packets()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Protectors.ConfidentialityLimit = 100;
        pair.ServerHandler.Discards = true;
        for (int i = 0; i < 40; i++)
        {
            Write(pair, 20_000);
            pair.Run(200);
        }

        Assert.True(pair.ClientConnection!.Keys.Updates > 3);
        Assert.Null(pair.ClientHandler.Reason);
        Assert.Equal(800_000, pair.ServerHandler.Count);
    }

    [Fact]
    [Trait("Rfc", "9001-6.6")]
    public void Keys_that_cannot_be_updated_are_not_used_beyond_their_limit()
    {
        const int Limit = 100;
        using QuicPair pair = QuicPair.Connected(PacketLog.Into(_ends));
        pair.Protectors.ConfidentialityLimit = Limit;
        pair.Drops = static (fromClient, _) => !fromClient;
        int before = Client.Sent.Count;
        for (int i = 0; i < 500 && pair.ClientHandler.Reason is null; i++)
        {
            pair.ClientConnection!.Pending.Ping = true;
            pair.Run(10);
        }

        Assert.Equal((long)TransportErrorCode.AeadLimitReached, pair.ClientHandler.Reason!.Value.Code);
        Assert.InRange(pair.ClientConnection!.Keys.Updates, 0, 1);
        Assert.InRange(Client.Sent.Count - before, 10, ((1 + pair.ClientConnection.Keys.Updates) * Limit) - 1);
    }

    private static IEnumerable<long> Acked(string frames) => frames.Split("; ")
        .Where(static frame => frame.StartsWith("ack ", StringComparison.Ordinal))
        .SelectMany(static frame => frame.Split(' ')[1].Split(','))
        .Select(static range => range.Split('-'))
        .SelectMany(static ends => Enumerable.Range(int.Parse(ends[0], null), int.Parse(ends[1], null) - int.Parse(ends[0], null) + 1))
        .Select(static number => (long)number);

    private static void Write(QuicPair pair, int count)
    {
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(new byte[count]);
        stream.Finish();
    }
}
