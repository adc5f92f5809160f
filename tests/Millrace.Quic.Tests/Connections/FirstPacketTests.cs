using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Ids and tokens of the first packets, and what may be sent before an address is known (RFC 9000, sections 5.2, 6.2, 7.2, 8.1).</summary>
public sealed class FirstPacketTests
{
    private static readonly PathAddress Other = PathAddress.FromIPv4(0x0A000099, 6000);

    private readonly List<PacketLog> _ends = [];

    [Fact]
    [Trait("Rfc", "9000-7.2")]
    [Trait("Rfc", "9000-8.1")]
    public void Until_the_server_answers_a_client_repeats_its_initial_packet_to_one_id_of_8_bytes()
    {
        using QuicPair pair = new() { Drops = static (_, _) => true };
        pair.Connect();
        pair.Run(8_000);
        Assert.InRange(pair.Sent.Count, 4, 20);
        Assert.All(pair.Sent, sent =>
        {
            PacketHeader header = Parse(sent.Bytes);
            Assert.Equal((PacketKind.Initial, 1200), (header.Kind, sent.Bytes.Length));
            Assert.InRange(header.DestinationId.Length, ConnectionId.MinimumInitialLength, ConnectionId.MaximumLength);
            Assert.Equal(pair.ClientConnection!.OriginalDestinationId.AsSpan, header.DestinationId);
        });
    }

    [Fact]
    [Trait("Rfc", "9000-8.1")]
    public void A_client_with_handshake_keys_probes_with_handshake_packets()
    {
        using QuicPair pair = new();
        pair.Drops = (fromClient, _) => fromClient && pair.ClientConnection!.Recovery.HasHandshakeKeys;
        pair.Connect();
        pair.Run(2);
        Assert.True(pair.ClientConnection!.Recovery.HasHandshakeKeys);
        pair.Sent.Clear();
        pair.Run(3_000);
        PacketKind[] kinds = [.. pair.Sent.Where(static sent => sent.FromClient).Select(static sent => Parse(sent.Bytes).Kind)];
        Assert.InRange(kinds.Length, 2, 20);
        Assert.All(kinds, static kind => Assert.Equal(PacketKind.Handshake, kind));
    }

    [Fact]
    [Trait("Rfc", "9000-7.2")]
    public void A_client_sends_to_the_id_of_the_servers_first_packet_and_drops_packets_from_another()
    {
        using QuicPair pair = new(PacketLog.Into(_ends)) { Drops = static (_, _) => true };
        pair.Connect();
        QuicConnection client = pair.ClientConnection!;
        foreach ((byte source, long number) in new (byte, long)[] { (5, 0), (6, 1), (5, 2) })
        {
            byte[] packet = new byte[1200];
            using PlainProtector protector = (PlainProtector)pair.ClientCryptography.CreateInitialProtector(
                QuicVersion.Version1, client.OriginalDestinationId.AsSpan, isServers: true);
            Assert.True(PacketWriter.TryBeginLong(
                packet, PacketKind.Initial, QuicVersion.Version1, client.LocalIds.First, new ConnectionId([source]), default, number, 4,
                out PacketWriter writer));
            writer.Frames[0] = 1;
            int length = writer.Finish(protector, 1);
            pair.Client.Receive(
                packet.AsSpan(0, length), QuicPair.ServerAddress, QuicPair.ClientAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);
            pair.Pump();
        }

        pair.Run(100);
        Assert.Equal([0, 2], Assert.Single(_ends).Received.Select(static packet => packet.Number));
        Assert.InRange(pair.Sent.Count, 2, 20);
        Assert.All(pair.Sent.Skip(1), static sent => Assert.Equal<byte>([5], Parse(sent.Bytes).DestinationId.ToArray()));
    }

    [Fact]
    [Trait("Rfc", "9000-7.2")]
    public void A_server_sends_to_the_id_of_the_clients_first_packet()
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Run(200);
        byte[][] sent = [.. pair.Sent.Where(static sent => !sent.FromClient).Select(static sent => sent.Bytes)];
        Assert.InRange(sent.Length, 3, 100);
        Assert.All(sent, bytes => Assert.Equal(pair.ClientConnection!.LocalIds.First.AsSpan, Parse(bytes).DestinationId));
    }

    [Theory]
    [Trait("Rfc", "9000-5.2.2")]
    [InlineData((int)PacketKind.Handshake)]
    [InlineData((int)PacketKind.ZeroRtt)]
    [InlineData((int)PacketKind.Retry)]
    public void A_long_packet_of_no_connection_that_is_not_an_initial_one_is_dropped(int kindValue)
    {
        using QuicPair pair = new();
        byte[] datagram = new byte[1200];
        ConnectionId id = new([1, 2, 3, 4, 5, 6, 7, 8]);
        if (kindValue == (int)PacketKind.Retry)
        {
            RetryPacket.Write(datagram, pair.ServerCryptography, QuicVersion.Version1, id.AsSpan, id.AsSpan, id.AsSpan, new byte[1100]);
        }
        else
        {
            using PlainProtector protector = new(1);
            Assert.True(PacketWriter.TryBeginLong(
                datagram, (PacketKind)kindValue, QuicVersion.Version1, id, id, default, 0, 4, out PacketWriter writer));
            writer.Frames[0] = 1;
            writer.Finish(protector, 1, 1200);
        }

        Assert.Equal((PacketKind)kindValue, Parse(datagram).Kind);
        Assert.Null(pair.Server.Receive(
            datagram, QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out int length, pair.Now));
        Assert.Equal((0, 0), (length, pair.Server.Routes));
    }

    [Fact]
    [Trait("Rfc", "9000-6.2")]
    public void A_list_of_versions_after_a_retry_is_ignored()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 })
        {
            Drops = static (fromClient, bytes) => !fromClient && Parse(bytes).Kind != PacketKind.Retry,
        };
        pair.Connect();
        pair.Run(3);
        QuicConnection client = pair.ClientConnection!;
        Assert.NotNull(client.RetrySourceId);
        Assert.False(client.HasOpened);
        foreach (ConnectionId source in (ConnectionId[])[client.OriginalDestinationId, client.InitialDestinationId])
        {
            byte[] packet = new byte[100];
            int length = VersionNegotiationPacket.Write(packet, client.LocalIds.First.AsSpan, source.AsSpan, [0x0A1A2A3A], 5);
            pair.Client.Receive(
                packet.AsSpan(0, length), QuicPair.ServerAddress, QuicPair.ClientAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);
        }

        Assert.Null(pair.ClientHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public void All_initial_packets_after_a_retry_have_its_token()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 })
        {
            Drops = static (fromClient, bytes) => !fromClient && Parse(bytes).Kind != PacketKind.Retry,
        };
        pair.Connect(token: [9, 9, 9]);
        pair.Run(5_000);
        byte[][] tokens = [.. pair.Sent.Where(static sent => sent.FromClient).Select(static sent => Parse(sent.Bytes).Token.ToArray())];
        Assert.InRange(tokens.Length, 4, 20);
        Assert.Equal<byte>([9, 9, 9], tokens[0]);
        Assert.True(tokens[1].Length > 3);
        Assert.All(tokens.Skip(1), token => Assert.Equal(tokens[1], token));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.3")]
    public void All_initial_packets_have_the_token_of_an_earlier_connection()
    {
        using QuicPair pair = new() { Drops = static (fromClient, _) => !fromClient };
        pair.Connect(token: [9, 9, 9]);
        pair.Run(5_000);
        byte[][] tokens = [.. pair.Sent.Where(static sent => sent.FromClient).Select(static sent => Parse(sent.Bytes).Token.ToArray())];
        Assert.InRange(tokens.Length, 3, 20);
        Assert.All(tokens, static token => Assert.Equal<byte>([9, 9, 9], token));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.3")]
    public void The_token_of_a_retry_is_not_given_out_for_other_connections()
    {
        using QuicPair pair = new(QuicSettings.Default with { SendsNewToken = false }, new EndpointLimits { RetryAbove = 0 });
        pair.Connect();
        pair.Run(500);
        Assert.True(pair.ClientHandler.IsComplete);
        Assert.NotNull(pair.ClientConnection!.Token);
        Assert.Null(pair.ClientHandler.Token);
    }

    [Theory]
    [Trait("Rfc", "9000-8.1.4")]
    [InlineData(false)]
    [InlineData(true)]
    public void A_token_frees_its_own_address_of_the_limit_and_no_other(bool isOther)
    {
        using QuicPair pair = new() { CertificateLength = 30_000 };
        pair.Connect();
        pair.Run(500);
        byte[] token = pair.ClientHandler.Token!;
        pair.ClientConnection!.Close(0, "", pair.Now);
        pair.Run(5_000);
        pair.Sent.Clear();
        pair.ClientSource = isOther ? Other : QuicPair.ClientAddress;
        pair.Drops = static (fromClient, _) => !fromClient;
        pair.Connect(token);
        pair.Run(50);
        Assert.Equal(pair.ClientSource, pair.ServerConnection!.Paths.Active.Remote);
        Assert.Equal(!isOther, pair.ServerConnection.Paths.Active.IsValidated);
        long received = pair.Sent.Where(static sent => sent.FromClient).Sum(static sent => sent.Bytes.Length);
        long sent = pair.Sent.Where(static sent => !sent.FromClient).Sum(static sent => sent.Bytes.Length);
        Assert.Equal(isOther, sent <= 3 * received);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1")]
    public void A_datagram_of_which_nothing_opens_counts_as_received()
    {
        using QuicPair pair = new() { CertificateLength = 30_000, Drops = static (fromClient, _) => !fromClient };
        pair.Connect();
        pair.Run(2);
        NetworkPath path = pair.ServerConnection!.Paths.Active;
        Assert.Equal((1200, true), (path.BytesReceived, path.IsLimited));
        byte[] damaged = [.. pair.Sent[0].Bytes];
        damaged[^1] ^= 1;
        pair.Server.Receive(
            damaged, QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out int length, pair.Now);
        Assert.Equal((0, 2400), (length, path.BytesReceived));
        pair.Sent.Clear();
        pair.Pump();
        Assert.InRange(pair.Sent.Sum(static sent => sent.Bytes.Length), 2400, 3600);
    }

    private static PacketHeader Parse(ReadOnlySpan<byte> datagram)
    {
        Assert.True(PacketHeader.TryParse(datagram, EndpointTable.IdLength, out PacketHeader header));
        return header;
    }
}
