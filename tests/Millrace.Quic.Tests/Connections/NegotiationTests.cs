using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Version Negotiation, Retry, and first packets that are not valid (RFC 9000, sections 5.2, 6, 7.2 and 17.2).</summary>
public sealed class NegotiationTests
{
    private readonly List<PacketLog> _ends = [];

    [Fact]
    [Trait("Rfc", "9000-5.2.2")]
    [Trait("Rfc", "9000-17.2.1")]
    public void One_packet_answers_a_large_datagram_of_an_unknown_version_and_none_a_small_one()
    {
        byte[] datagram = Unknown(1200);
        Assert.True(Ask(datagram[..1199]).Length == 0);
        byte[] reply = Ask(datagram);
        Assert.True(PacketHeader.TryParse(reply, EndpointTable.IdLength, out PacketHeader header));
        Assert.Equal((PacketKind.VersionNegotiation, reply.Length), (header.Kind, header.PacketLength));
        Assert.Equal(0u, header.Version);
        Assert.Equal<byte>([4, 5, 6], header.DestinationId.ToArray());
        Assert.Equal(Enumerable.Range(0, 30).Select(static i => (byte)i), header.SourceId.ToArray());
    }

    [Fact]
    [Trait("Rfc", "9000-6.1")]
    public void A_list_of_versions_is_not_answered()
    {
        byte[] datagram = Unknown(1200);
        datagram.AsSpan(1, 4).Clear();
        Assert.Empty(Ask(datagram));
    }

    [Theory]
    [Trait("Rfc", "9000-7.2")]
    [InlineData(7, false)]
    [InlineData(8, true)]
    public void An_initial_packet_to_an_id_of_fewer_than_8_bytes_begins_nothing(int length, bool begins)
    {
        using QuicPair pair = new();
        byte[] reply = new byte[1200];
        QuicConnection? connection = pair.Server.Receive(
            Initial(pair, new byte[length], []), QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, reply, out _, pair.Now);
        Assert.Equal(begins, connection is not null);
    }

    [Theory]
    [Trait("Rfc", "9000-17.2.5.1")]
    [Trait("Rfc", "9000-8.1.2")]
    [InlineData(1199, 0)]
    [InlineData(1200, 1)]
    public void One_retry_answers_one_datagram_from_an_id_that_is_not_the_clients(int length, int replies)
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 });
        byte[] id = [1, 2, 3, 4, 5, 6, 7, 8];
        byte[] reply = new byte[1200];
        Assert.Null(pair.Server.Receive(
            Initial(pair, id, []).AsSpan(0, length), QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, reply, out int count, pair.Now));
        Assert.Equal(replies > 0, count > 0);
        if (count > 0)
        {
            Assert.True(PacketHeader.TryParse(reply.AsSpan(0, count), EndpointTable.IdLength, out PacketHeader header));
            Assert.Equal((PacketKind.Retry, count), (header.Kind, header.PacketLength));
            Assert.NotEqual(id, header.SourceId.ToArray());
        }
    }

    [Theory]
    [Trait("Rfc", "9000-6.2")]
    [InlineData(QuicVersion.Version1, false)]
    [InlineData(0x0A1A2A3A, true)]
    public void A_list_with_the_version_of_the_client_is_ignored(uint version, bool ends)
    {
        using QuicPair pair = Begin();
        Negotiate(pair, version);
        Assert.Equal(ends, pair.ClientHandler.Reason is not null);
    }

    [Fact]
    [Trait("Rfc", "9000-6.2")]
    public void A_list_of_versions_after_a_packet_of_the_server_is_ignored()
    {
        using QuicPair pair = new();
        pair.Connect();
        pair.Run(2);
        Assert.True(pair.ClientConnection!.HasOpened);
        Negotiate(pair, 0x0A1A2A3A);
        Assert.Null(pair.ClientHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9000-17.2.5.2")]
    [Trait("Rfc", "9000-17.2.5.3")]
    public void One_retry_is_followed_with_its_token_the_same_hello_and_further_numbers()
    {
        using QuicPair pair = Begin();
        ConnectionId original = pair.ClientConnection!.OriginalDestinationId;
        Retry(pair, original, [7, 7, 7, 7, 7, 7, 7, 7], [1, 2, 3], damage: false);
        Retry(pair, original, [6, 6, 6, 6, 6, 6, 6, 6], [9, 9, 9], damage: false);
        pair.Run(1);
        Assert.Equal(new ConnectionId([7, 7, 7, 7, 7, 7, 7, 7]), pair.ClientConnection.RetrySourceId);
        (byte[] first, byte[] second) = (pair.Sent[0].Bytes, pair.Sent[^1].Bytes);
        Assert.True(PacketHeader.TryParse(first, 8, out PacketHeader before));
        Assert.True(PacketHeader.TryParse(second, 8, out PacketHeader after));
        Assert.Equal<byte>([1, 2, 3], after.Token.ToArray());
        Assert.Equal<byte>([7, 7, 7, 7, 7, 7, 7, 7], after.DestinationId.ToArray());
        Assert.Equal(before.SourceId.ToArray(), after.SourceId.ToArray());
        PacketLog client = Assert.Single(_ends);
        Assert.True(client.Sent[^1].Number > client.Sent[0].Number);
        Assert.Equal(client.Sent[0].Frames, client.Sent[^1].Frames);
    }

    [Theory]
    [Trait("Rfc", "9000-17.2.5.1")]
    [Trait("Rfc", "9000-17.2.5.2")]
    [InlineData("damaged")]
    [InlineData("from the client's own id")]
    [InlineData("without a token")]
    [InlineData("late")]
    public void A_retry_that_is_not_valid_is_dropped(string what)
    {
        using QuicPair pair = what == "late" ? new QuicPair() : Begin();
        if (what == "late")
        {
            pair.Connect();
            pair.Run(2);
            Assert.True(pair.ClientConnection!.HasOpened);
        }

        ConnectionId original = pair.ClientConnection!.OriginalDestinationId;
        byte[] source = what == "from the client's own id" ? original.AsSpan.ToArray() : [7, 7, 7, 7, 7, 7, 7, 7];
        Retry(pair, original, source, what == "without a token" ? [] : [1, 2, 3], what == "damaged");
        Assert.Null(pair.ClientConnection.RetrySourceId);
        Assert.Null(pair.ClientConnection.Token);
    }

    [Fact]
    [Trait("Rfc", "9000-7.2")]
    public void Packets_from_another_id_than_the_first_ones_are_dropped()
    {
        using QuicPair pair = new(PacketLog.Into(_ends));
        byte[] id = [1, 2, 3, 4, 5, 6, 7, 8];
        byte[] reply = new byte[1200];
        foreach ((byte[] source, long number) in new (byte[], long)[] { ([1], 0), ([2], 1), ([1], 2) })
        {
            pair.Server.Receive(
                Initial(pair, id, source, number), QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, reply, out _, pair.Now);
        }

        Assert.Equal([0, 2], Assert.Single(_ends).Received.Select(static packet => packet.Number));
    }

    [Fact]
    [Trait("Rfc", "9000-5.2.1")]
    public void A_client_drops_packets_of_another_version()
    {
        using QuicPair pair = Begin();
        byte[] packet = new byte[1200];
        ConnectionId original = pair.ClientConnection!.OriginalDestinationId;
        foreach (uint version in (uint[])[QuicVersion.Version2, QuicVersion.Version1])
        {
            using var protector = pair.ClientCryptography.CreateInitialProtector(QuicVersion.Version1, original.AsSpan, isServers: true);
            Assert.True(PacketWriter.TryBeginLong(
                packet, PacketKind.Initial, version, pair.ClientConnection.LocalIds.First, new ConnectionId([5]), default, 0, 4, out PacketWriter writer));
            writer.Frames[0] = 1;
            int length = writer.Finish(protector, 1);
            Assert.NotNull(pair.Client.Receive(
                packet.AsSpan(0, length), QuicPair.ServerAddress, QuicPair.ClientAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now));
            Assert.Equal(version == QuicVersion.Version1, pair.ClientConnection.HasOpened);
        }
    }

    /// <summary>A client whose first packet is lost.</summary>
    private QuicPair Begin()
    {
        QuicPair pair = new(PacketLog.Into(_ends)) { Drops = static (_, _) => true };
        pair.Connect();
        return pair;
    }

    private static void Negotiate(QuicPair pair, uint version)
    {
        QuicConnection client = pair.ClientConnection!;
        byte[] packet = new byte[100];
        int length = VersionNegotiationPacket.Write(packet, client.LocalIds.First.AsSpan, client.OriginalDestinationId.AsSpan, [version], 5);
        pair.Client.Receive(
            packet.AsSpan(0, length), QuicPair.ServerAddress, QuicPair.ClientAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);
    }

    private static void Retry(QuicPair pair, ConnectionId original, byte[] source, byte[] token, bool damage)
    {
        byte[] packet = new byte[200];
        ConnectionId client = pair.ClientConnection!.LocalIds.First;
        int length = RetryPacket.Write(
            packet, pair.ClientCryptography, QuicVersion.Version1, client.AsSpan, source, original.AsSpan, token.Length == 0 ? [1] : token);
        if (token.Length == 0)
        {
            // The tag is that of the packet without the byte of the token.
            Span<byte> tag = packet.AsSpan(length - 17, 16);
            pair.ClientCryptography.GetRetryTag(
                QuicVersion.Version1, [(byte)original.Length, .. original.AsSpan, .. packet.AsSpan(0, length - 17)], tag);
            length--;
        }

        packet[length - 1] ^= (byte)(damage ? 1 : 0);
        pair.Client.Receive(
            packet.AsSpan(0, length), QuicPair.ServerAddress, QuicPair.ClientAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);
    }

    private static byte[] Unknown(int length)
    {
        byte[] datagram = new byte[length];
        LongHeader.Write(datagram, 0xC0, 0x0A1A2A3A, [.. Enumerable.Range(0, 30).Select(static i => (byte)i)], [4, 5, 6]);
        return datagram;
    }

    private static byte[] Ask(byte[] datagram)
    {
        using QuicPair pair = new();
        byte[] reply = new byte[1200];
        Assert.Null(pair.Server.Receive(
            [.. datagram], QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, reply, out int length, pair.Now));
        return reply[..length];
    }

    /// <summary>An Initial packet with a PING in a datagram of 1200 bytes.</summary>
    private static byte[] Initial(QuicPair pair, byte[] destination, byte[] source, long number = 0)
    {
        byte[] packet = new byte[1200];
        using var protector = pair.ServerCryptography.CreateInitialProtector(QuicVersion.Version1, destination, isServers: false);
        Assert.True(PacketWriter.TryBeginLong(
            packet, PacketKind.Initial, QuicVersion.Version1, new ConnectionId(destination), new ConnectionId(source), default, number, 4,
            out PacketWriter writer));
        writer.Frames[0] = 1;
        writer.Finish(protector, 1, 1200);
        return packet;
    }
}
