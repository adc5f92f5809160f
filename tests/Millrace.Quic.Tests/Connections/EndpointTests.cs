using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Tests.Connections;

/// <summary>What an endpoint answers to those who have no connection.</summary>
public sealed class EndpointTests
{
    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public void A_client_proves_its_address_by_a_retry()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 });
        pair.Connect();
        pair.Run(200);
        Assert.True(pair.ClientHandler.IsComplete);
        Assert.NotNull(pair.ClientConnection!.Handshake.PeerParameters!.RetrySourceConnectionId);
        Assert.Equal(PacketKind.Retry, KindOf(pair.Sent.First(static sent => !sent.FromClient).Bytes));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.3")]
    public void A_token_of_an_earlier_connection_saves_the_retry()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0 });
        pair.Connect();
        pair.Run(200);
        byte[]? token = pair.ClientHandler.Token;
        Assert.NotNull(token);
        pair.ClientConnection!.Close(0, "", pair.Now);
        pair.Run(5_000);
        pair.Sent.Clear();
        pair.Connect(token);
        pair.Run(200);
        Assert.True(pair.ClientHandler.IsComplete);
        Assert.Equal(PacketKind.Initial, KindOf(pair.Sent.First(static sent => !sent.FromClient).Bytes));
    }

    /// <summary>An attacker that sends datagrams with a client's address could otherwise keep that client away.</summary>
    [Fact]
    public void Handshakes_that_prove_no_address_do_not_count_for_it()
    {
        const int Most = 2;
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = Most, ConnectionsPerAddress = Most });
        pair.Drops = static (fromClient, _) => !fromClient;
        for (int i = 0; i < Most; i++)
        {
            pair.Connect();
            pair.Run(2);
        }

        Assert.Equal(Most, pair.Server.Handshakes);
        pair.Drops = static (_, _) => false;
        pair.Connect();
        pair.Run(200);
        Assert.Null(pair.ClientHandler.Reason);
        Assert.True(pair.ClientHandler.IsComplete);
    }

    [Fact]
    public void Connections_beyond_those_of_an_address_are_refused_until_one_ends()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RetryAbove = 0, ConnectionsPerAddress = 1 });
        QuicConnection first = pair.Connect();
        pair.Run(200);
        QuicConnection served = pair.ServerConnection!;
        pair.Connect();
        pair.Run(200);
        Assert.Equal((long)TransportErrorCode.ConnectionRefused, pair.ClientHandler.Reason!.Value.Code);
        served.End(new CloseReason(CloseSource.Local, false, 0, 0, ""));
        pair.Server.Remove(served);
        pair.Client.Remove(first);
        pair.Connect();
        pair.Run(200);
        Assert.True(pair.ClientHandler.IsComplete);
    }

    [Fact]
    public void A_client_has_no_more_connections_than_the_limit_of_its_address()
    {
        using QuicPair pair = new(limits: new EndpointLimits { ConnectionsPerAddress = 1, RetryAbove = 0 });
        pair.Connect();
        pair.Run(200);
        Assert.True(pair.ClientHandler.IsComplete);
        QuicConnection first = pair.ClientConnection!;
        pair.Connect();
        pair.Run(200);
        Assert.Equal((long)TransportErrorCode.ConnectionRefused, pair.ClientHandler.Reason!.Value.Code);
        first.Close(0, "", pair.Now);
    }

    /// <summary>Anybody can write the client's address into datagrams, and gets nothing of what is sent there.</summary>
    [Fact]
    [Trait("Rfc", "9000-21.1.1.1")]
    public void Handshakes_that_others_begin_with_a_clients_address_do_not_keep_it_out()
    {
        using QuicPair pair = new(limits: new EndpointLimits { ConnectionsPerAddress = 3, RetryAbove = 3 });
        pair.Drops = static (fromClient, _) => !fromClient;
        for (int i = 0; i < 3; i++)
        {
            pair.Connect();
            pair.Run(5);
        }

        Assert.Equal(3, pair.Server.Handshakes);
        pair.Drops = static (_, _) => false;
        pair.Connect();
        pair.Run(200);
        Assert.True(pair.ClientHandler.IsComplete);
    }

    /// <summary>Those that prove no address are limited together, by Retry.</summary>
    [Fact]
    public void Handshakes_of_one_address_leave_room_for_those_of_others()
    {
        const int Most = 5;
        using QuicPair pair = new(limits: new EndpointLimits { Handshakes = 4 * Most, RetryAbove = 0 });
        pair.Drops = static (fromClient, bytes) => !fromClient && KindOf(bytes) != PacketKind.Retry;
        for (int i = 0; i < Most; i++)
        {
            pair.Connect();
            pair.Run(10);
            Assert.Equal(i + 1, pair.Server.Handshakes);
        }

        pair.Drops = static (_, _) => false;
        pair.Connect();
        pair.Run(200);
        Assert.Equal((long)TransportErrorCode.ConnectionRefused, pair.ClientHandler.Reason!.Value.Code);
        pair.ClientSource = PathAddress.FromIPv4(0x0A000003, 5000);
        pair.Connect();
        pair.Run(200);
        Assert.True(pair.ClientHandler.IsComplete);
        pair.Server.Abort();
        pair.ClientSource = QuicPair.ClientAddress;
        for (int i = 0; i < 2 * Most; i++)
        {
            pair.Connect();
            pair.Run(200);
            Assert.True(pair.ClientHandler.IsComplete);
        }
    }

    [Fact]
    [Trait("Rfc", "9000-6.1")]
    public void An_unknown_version_is_answered_with_those_that_are_known()
    {
        using QuicPair pair = new();
        pair.Connect(version: QuicVersion.Grease);
        pair.Run(200);
        Assert.Equal(CloseSource.NoVersion, pair.ClientHandler.Reason!.Value.Source);
        Assert.Equal(QuicVersion.Version1, pair.ClientHandler.Reason!.Value.Code);
        Assert.Empty(pair.Server.Connections);
    }

    [Fact]
    [Trait("Rfc", "9368-4")]
    public void A_client_chooses_what_it_prefers_of_the_servers_versions()
    {
        QuicSettings settings = QuicSettings.Default with { Version = QuicVersion.Version2 };
        Assert.Equal(QuicVersion.Version2, ConnectionParameters.ChooseVersion([QuicVersion.Version1, QuicVersion.Version2], settings));
        Assert.Equal(QuicVersion.Version1, ConnectionParameters.ChooseVersion([7, QuicVersion.Version1], settings));
        Assert.Equal(0u, ConnectionParameters.ChooseVersion([7], settings));
    }

    [Fact]
    public void A_damaged_initial_packet_makes_no_handshake_and_gets_no_answer()
    {
        using QuicPair pair = new() { Accepts = false };
        pair.Drops = static (_, _) => true;
        pair.Connect();
        byte[] damaged = pair.Sent[0].Bytes;
        damaged[500] ^= 1;
        Assert.Null(pair.Server.Receive(
            damaged, QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out int length, pair.Now));
        Assert.Equal(0, length);
        Assert.Equal(0, pair.Server.Routes);
    }

    [Fact]
    public void A_server_that_does_not_accept_refuses()
    {
        using QuicPair pair = new() { Accepts = false };
        pair.Connect();
        pair.Run(200);
        Assert.Equal(CloseSource.Peer, pair.ClientHandler.Reason!.Value.Source);
        Assert.Equal((long)TransportErrorCode.ConnectionRefused, pair.ClientHandler.Reason!.Value.Code);
        Assert.Empty(pair.Server.Connections);
    }

    [Fact]
    [Trait("Rfc", "9000-10.3")]
    public void A_server_without_its_state_resets()
    {
        using QuicPair pair = QuicPair.Connected();
        pair.Server.Abort();
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out Quic.Streams.QuicStream? stream));
        stream!.Write(new byte[100]);
        pair.Run(100);
        Assert.Equal(CloseSource.StatelessReset, pair.ClientHandler.Reason!.Value.Source);
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.3")]
    public void A_reset_is_shorter_than_its_cause_and_resets_are_limited()
    {
        using QuicPair pair = new(limits: new EndpointLimits { RepliesPerSecond = 10 });
        byte[] reply = new byte[EndpointReplies.MaximumLength];
        int replies = 0;
        for (int i = 0; i < 100; i++)
        {
            byte[] datagram = new byte[25 + (i % 20)];
            datagram[0] = 0x40;
            pair.Server.Receive(
                datagram, QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, reply, out int length, pair.Now);
            Assert.True(length < datagram.Length);
            replies += length > 0 ? 1 : 0;
        }

        Assert.Equal(10, replies);
    }

    [Fact]
    [Trait("Rfc", "9000-14.1")]
    public void An_initial_packet_in_a_small_datagram_begins_nothing()
    {
        using QuicPair pair = new();
        pair.Drops = static (_, _) => true;
        pair.Connect();
        byte[] small = pair.Sent[0].Bytes[..1199];
        Assert.Null(pair.Server.Receive(
            small, QuicPair.ClientAddress, QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out int length, pair.Now));
        Assert.Equal(0, length);
    }

    private static PacketKind KindOf(byte[] datagram)
    {
        Assert.True(PacketHeader.TryParse(datagram, EndpointTable.IdLength, out PacketHeader header));
        return header.Kind;
    }
}
