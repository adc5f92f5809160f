using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Parameters;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Connections;

/// <summary>What the datagrams and packets of a connection may be, as they are seen on the network (RFC 9000, sections 12 to 19).</summary>
public sealed class WireRuleTests
{
    private static readonly PathAddress Other = PathAddress.FromIPv4(0x0A000099, 6000);

    private readonly List<PacketLog> _ends = [];

    private PacketLog Client => _ends.Single(static end => !end.IsServer);

    private PacketLog Server => _ends.Single(static end => end.IsServer);

    [Fact]
    [Trait("Rfc", "9000-12.2")]
    public void The_packets_of_a_datagram_have_one_destination_id()
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Run(200);
        int most = 0;
        foreach ((bool _, byte[] bytes) in pair.Sent)
        {
            List<byte[]> ids = [.. HeadersOf(bytes).Select(static header => header.Destination)];
            most = Math.Max(most, ids.Count);
            Assert.All(ids, id => Assert.Equal(ids[0], id));
        }

        Assert.InRange(most, 2, 3);
    }

    [Theory]
    [Trait("Rfc", "9000-12.4")]
    [Trait("Rfc", "9000-12.5")]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(500)]
    public void Each_packet_has_frames_and_only_those_that_its_kind_and_its_sender_may_send(int closedAfter)
    {
        using QuicPair pair = new(PacketLog.Into(_ends)) { ClientSource = QuicPair.ClientAddress };
        pair.Connect();
        pair.Run(Math.Min(closedAfter, 100));
        pair.ServerHandler.Echoes = true;
        if (closedAfter > 100)
        {
            Write(pair, 50_000);
            Assert.True(pair.ClientConnection!.TryMigrate(Other, pair.Now));
            pair.Run(closedAfter);
        }

        pair.ClientConnection!.Close(256, "reason", pair.Now);
        pair.Run(1_000);
        foreach (PacketLog end in _ends)
        {
            Assert.DoesNotContain(end.Sent, static packet => packet.Frames.Contains("Violation", StringComparison.Ordinal));
            Assert.DoesNotContain(end.Sent, static packet => packet.Frames.Contains("Error", StringComparison.Ordinal));
        }

        Assert.Contains(Client.Sent, static packet => packet.Frames.Contains("close", StringComparison.Ordinal));
    }

    [Fact]
    [Trait("Rfc", "9000-12.3")]
    public void A_packet_is_opened_before_its_number_is_looked_at()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Protectors.IntegrityLimit = 20;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
        byte[] genuine = [.. pair.Sent[^1].Bytes];
        pair.Run(2);
        for (int i = 1; i <= 20; i++)
        {
            Assert.Null(pair.ServerHandler.Reason);
            byte[] forged = [.. genuine];
            forged[^1] ^= (byte)i;
            pair.Send(true, forged, QuicPair.ClientAddress, QuicPair.ServerAddress);
            pair.Run(2);
        }

        Assert.Equal((long)TransportErrorCode.AeadLimitReached, pair.ServerHandler.Reason?.Code);
    }

    [Fact]
    [Trait("Rfc", "9000-13.2.1")]
    public void An_end_that_only_receives_sends_an_acknowledgement_for_a_packet_at_most_and_seldom_asks_for_one()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(1_000);
        pair.ServerHandler.Discards = true;
        int sent = Server.Sent.Count;
        int received = Server.Received.Count;
        Write(pair, 60_000);
        for (int i = 0; i < 200; i++)
        {
            pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
            pair.Run(30);
        }

        var answers = Server.Sent.Skip(sent).Select(static packet => packet.Frames.Split("; ")).ToList();
        int elicited = Server.Received.Skip(received).Count(static packet => packet.Frames.Split("; ").Any(static frame => !IsAck(frame)));
        int silent = answers.Count(static frames => frames.All(IsAck));
        Assert.InRange(silent, 200, elicited);
        Assert.InRange(answers.Count(static frames => frames.Contains("Ping")), 1, silent / 10);
    }

    [Fact]
    [Trait("Rfc", "9000-13.4.1")]
    public void The_marks_of_received_packets_are_reported_by_an_end_that_sets_none()
    {
        using QuicPair pair = new(PacketLog.Into(_ends, QuicSettings.Default with { UsesEcn = false }));
        pair.Connect();
        pair.Run(1_000);
        foreach (EcnMark mark in (EcnMark[])[EcnMark.Ect1, EcnMark.Ce])
        {
            pair.Drops = static (_, _) => true;
            pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
            byte[] bytes = pair.Sent[^1].Bytes;
            pair.Drops = static (_, _) => false;
            pair.Send(true, bytes, QuicPair.ClientAddress, QuicPair.ServerAddress, mark);
            pair.Run(100);
        }

        Assert.EndsWith(" ecn 0 1 1", Server.Sent[^1].Frames);
    }

    [Theory]
    [Trait("Rfc", "9000-14")]
    [Trait("Rfc", "9000-14.1")]
    [InlineData(1199, false)]
    [InlineData(1200, true)]
    public void An_initial_packet_in_a_small_datagram_is_dropped_and_ends_nothing(int length, bool isReceived)
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Inject(fromClient: true, PacketKind.Initial, [1], padTo: length);
        pair.Run(200);
        Assert.Equal(isReceived, Server.Received.Any(static packet => packet is { Kind: PacketKind.Initial, Frames: "Ping" }));
        Assert.True(pair.ServerHandler.IsComplete && pair.ClientHandler.IsComplete);
        Assert.Null(pair.ServerHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9000-14")]
    public void A_path_that_does_not_carry_1200_bytes_carries_no_connection()
    {
        using QuicPair pair = new() { Drops = static (_, bytes) => bytes.Length >= 1200 };
        pair.Connect();
        pair.Run(100_000);
        Assert.NotEmpty(pair.Sent);
        Assert.Null(pair.ServerConnection);
        Assert.Equal(CloseSource.Timeout, pair.ClientHandler.Reason?.Source);
    }

    [Theory]
    [Trait("Rfc", "9000-17.2.1")]
    [InlineData(0x80)]
    [InlineData(0xBF)]
    [InlineData(0xFF)]
    public void A_list_of_versions_counts_whatever_its_unused_bits_are(byte first)
    {
        using QuicPair pair = Begin();
        QuicConnection client = pair.ClientConnection!;
        byte[] packet = new byte[100];
        int length = VersionNegotiationPacket.Write(packet, client.LocalIds.First.AsSpan, client.OriginalDestinationId.AsSpan, [0x0A1A2A3A], 5);
        packet[0] = first;
        Receive(pair, packet.AsSpan(0, length));
        Assert.Equal(CloseSource.NoVersion, pair.ClientHandler.Reason?.Source);
    }

    [Theory]
    [Trait("Rfc", "9000-17.2.5")]
    [InlineData(0x00)]
    [InlineData(0x0F)]
    public void A_retry_packet_counts_whatever_its_unused_bits_are(byte bits)
    {
        using QuicPair pair = Begin();
        QuicConnection client = pair.ClientConnection!;
        ReadOnlySpan<byte> original = client.OriginalDestinationId.AsSpan;
        byte[] packet = new byte[200];
        int length = RetryPacket.Write(packet, pair.ClientCryptography, 1, client.LocalIds.First.AsSpan, [7, 7, 7, 7, 7, 7, 7, 7], original, [1]);
        packet[0] = (byte)((packet[0] & 0xF0) | bits);
        pair.ClientCryptography.GetRetryTag(
            1, [(byte)original.Length, .. original, .. packet.AsSpan(0, length - 16)], packet.AsSpan(length - 16, 16));
        Receive(pair, packet.AsSpan(0, length));
        Assert.NotNull(client.RetrySourceId);
    }

    [Fact]
    [Trait("Rfc", "9000-17.2.2")]
    public void A_servers_initial_packets_have_no_token()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 });
        pair.Connect();
        pair.Run(200);
        Assert.Contains(pair.Sent, static sent => sent.FromClient && HeadersOf(sent.Bytes).Exists(static header => header.Token.Length > 0));
        var initial = pair.Sent.Where(static sent => !sent.FromClient).SelectMany(static sent => HeadersOf(sent.Bytes))
            .Where(static header => header.Kind == PacketKind.Initial).ToList();
        Assert.NotEmpty(initial);
        Assert.All(initial, static header => Assert.Empty(header.Token));
    }

    [Theory]
    [Trait("Rfc", "9000-17.2.2")]
    [InlineData(1, false)]
    [InlineData(0, true)]
    public void A_client_drops_an_initial_packet_with_a_token(int tokenLength, bool isOpened)
    {
        using QuicPair pair = Begin();
        QuicConnection client = pair.ClientConnection!;
        using var protector = pair.ClientCryptography.CreateInitialProtector(1, client.OriginalDestinationId.AsSpan, isServers: true);
        byte[] packet = new byte[1200];
        Assert.True(PacketWriter.TryBeginLong(
            packet, PacketKind.Initial, 1, client.LocalIds.First, new ConnectionId([5]), new byte[tokenLength], 0, 4, out PacketWriter writer));
        writer.Frames[0] = 1;
        Receive(pair, packet.AsSpan(0, writer.Finish(protector, 1)));
        Assert.Equal(isOpened, client.HasOpened);
    }

    [Fact]
    [Trait("Rfc", "9000-17.4")]
    public void The_spin_bit_is_always_0_and_the_peers_is_ignored()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(200);
        pair.ServerHandler.Echoes = true;
        for (int i = 0; i < 20; i++)
        {
            pair.Inject(fromClient: true, PacketKind.OneRtt, [1], bits: 0x20);
            pair.Run(10);
            Assert.Equal("Ping", Server.Received[^1].Frames);
        }

        Write(pair, 20_000);
        pair.Run(500);
        Assert.Equal(20, pair.Sent.Count(static sent => IsSpun(sent.Bytes)));
        Assert.DoesNotContain(pair.Sent, static sent => !sent.FromClient && IsSpun(sent.Bytes));
        Assert.Null(pair.ServerHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9000-18.2")]
    public void A_client_sends_no_parameters_of_servers_and_a_server_no_preferred_address()
    {
        using QuicPair pair = new();
        List<(bool FromClient, TransportParameters Parameters)> seen = [];
        pair.ChangeParameters = (fromClient, parameters) => seen.Add((fromClient, parameters));
        pair.Connect();
        pair.Run(200);
        Assert.Equal(2, seen.Count);
        Assert.All(seen, static end => Assert.Null(end.Parameters.PreferredAddress));
        Assert.All(seen, static end => Assert.InRange(end.Parameters.ActiveConnectionIdLimit, 2, 8));
        TransportParameters client = seen.Single(static end => end.FromClient).Parameters;
        Assert.Null(client.OriginalDestinationConnectionId);
        Assert.Null(client.RetrySourceConnectionId);
        Assert.Null(client.StatelessResetToken);
    }

    [Fact]
    [Trait("Rfc", "9000-19.16")]
    public void An_id_is_retired_by_a_packet_to_another_one()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(1_000);
        pair.Sent.Clear();
        byte[] id = [9, 9, 9, 9, 9, 9, 9, 9];
        pair.Inject(fromClient: false, PacketKind.OneRtt, [0x18, 9, 9, 8, .. id, .. new byte[16]]);
        pair.Drops = static (fromClient, _) => fromClient;
        pair.Run(5);
        Assert.Contains(Client.Sent, static packet => packet.Frames.Contains("retire 0", StringComparison.Ordinal));
        Assert.All(pair.Sent.Where(static sent => sent.FromClient), sent => Assert.Equal(id, sent.Bytes[1..9]));
    }

    [Fact]
    [Trait("Rfc", "9000-19.20")]
    public void A_server_confirms_no_handshake_that_is_not_complete()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        int arrived = 0;
        pair.Drops = (fromClient, _) => fromClient && arrived++ > 0;
        pair.Connect();
        pair.Run(3_000);
        Assert.NotEmpty(Server.Sent);
        Assert.False(pair.ServerHandler.IsComplete);
        Assert.DoesNotContain(Server.Sent, static packet => packet.Frames.Contains("HandshakeDone", StringComparison.Ordinal));
    }

    private static bool IsAck(string frame) => frame.StartsWith("ack ", StringComparison.Ordinal);

    private static bool IsSpun(byte[] datagram) => (datagram[0] & 0xA0) == 0x20;

    /// <summary>A client whose first packet is lost.</summary>
    private static QuicPair Begin()
    {
        QuicPair pair = new() { Drops = static (_, _) => true };
        pair.Connect();
        return pair;
    }

    private static void Receive(QuicPair pair, Span<byte> datagram) => pair.Client.Receive(
        datagram, QuicPair.ServerAddress, QuicPair.ClientAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);

    private static List<(PacketKind Kind, byte[] Destination, byte[] Token)> HeadersOf(byte[] datagram)
    {
        List<(PacketKind Kind, byte[] Destination, byte[] Token)> headers = [];
        for (int offset = 0; offset < datagram.Length;)
        {
            Assert.True(PacketHeader.TryParse(datagram.AsSpan(offset), EndpointTable.IdLength, out PacketHeader header));
            headers.Add((header.Kind, header.DestinationId.ToArray(), header.Token.ToArray()));
            offset += header.PacketLength;
        }

        return headers;
    }

    private static void Write(QuicPair pair, int count)
    {
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write(new byte[count]);
        stream.Finish();
    }
}
