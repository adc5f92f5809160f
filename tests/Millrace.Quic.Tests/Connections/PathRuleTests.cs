using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Validation of paths and migration (RFC 9000, sections 8.2 and 9).</summary>
public sealed class PathRuleTests
{
    private static readonly PathAddress Other = PathAddress.FromIPv4(0x0A000099, 6000);

    private readonly List<PacketLog> _ends = [];

    private PacketLog Server => _ends.Single(static end => end.IsServer);

    [Fact]
    [Trait("Rfc", "9000-8.2.2")]
    public void A_challenge_gets_one_response_with_its_data_in_a_datagram_of_1200_bytes()
    {
        using QuicPair pair = Connect();
        pair.Sent.Clear();
        pair.Inject(fromClient: true, PacketKind.OneRtt, [0x1A, 1, 2, 3, 4, 5, 6, 7, 8]);
        pair.Run(2);
        Assert.Equal(1, Server.Sent.Count(static packet => packet.Frames.Contains("PathResponse 0102030405060708", StringComparison.Ordinal)));
        Assert.Contains(pair.Sent, static sent => !sent.FromClient && sent.Bytes.Length == 1200);
        pair.Run(2_000);
        Assert.Equal(1, Server.Sent.Count(static packet => packet.Frames.Contains("PathResponse", StringComparison.Ordinal)));
    }

    [Fact]
    [Trait("Rfc", "9000-8.2.2")]
    public void A_response_goes_where_its_challenge_came_from()
    {
        using QuicPair pair = Connect();
        pair.Drops = static (_, _) => true;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [0x1A, 1, 2, 3, 4, 5, 6, 7, 8]);
        pair.Drops = static (_, _) => false;
        byte[] bytes = pair.Sent[^1].Bytes;
        List<PathAddress> targets = [];
        pair.Server.Receive(bytes, Other, QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);
        byte[] buffer = new byte[64 * 1024];
        while (pair.ServerConnection!.Send(buffer, 1, out DatagramInfo info, pair.Now) > 0)
        {
            if (Server.Sent[^1].Frames.Contains("PathResponse", StringComparison.Ordinal))
            {
                targets.Add(info.Remote);
            }
        }

        Assert.Equal([Other], targets);
    }

    [Fact]
    [Trait("Rfc", "9000-8.2.1")]
    [Trait("Rfc", "9000-9.3")]
    [Trait("Rfc", "9000-9.3.3")]
    public void A_new_address_and_the_old_one_are_challenged_each_with_data_of_its_own()
    {
        using QuicPair pair = Connect();
        pair.ClientSource = Other;
        Write(pair);
        pair.Run(1);
        NetworkPath old = pair.ServerConnection!.Paths.Find(QuicPair.ServerAddress, QuicPair.ClientAddress)!;
        Assert.True(old.Challenges.IsRunning && pair.ServerConnection.Paths.Active.Challenges.IsRunning);
        pair.Run(100);
        string[] challenges = [.. Server.Sent
            .SelectMany(static packet => packet.Frames.Split("; "))
            .Where(static frame => frame.StartsWith("PathChallenge", StringComparison.Ordinal))];
        Assert.InRange(challenges.Length, 2, 10);
        Assert.Equal(challenges.Length, challenges.Distinct().Count());
        Assert.Equal(Other, pair.ServerConnection.Paths.Active.Remote);
        Assert.True(pair.ServerConnection.Paths.Active.IsValidated);
    }

    /// <summary>A peer that retires all its ids gets nothing; but it must not cost more than others either.</summary>
    [Fact]
    [Trait("Rfc", "9000-5.1.2")]
    public void Without_an_id_to_send_to_nothing_is_due_again_and_again()
    {
        using QuicPair pair = new();
        pair.ChangeParameters = static (fromClient, parameters) => parameters.ActiveConnectionIdLimit = fromClient ? 4 : 2;
        pair.Connect();
        pair.Run(200);
        pair.ClientSource = Other;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
        pair.Drops = static (_, _) => true;
        pair.Run(10_000);
        PeerConnectionIds ids = pair.ServerConnection!.PeerIds;
        Assert.False(ids.TryGet(1, out _), "the id of the path that failed is retired");
        pair.ClientSource = QuicPair.ClientAddress;
        pair.Drops = static (_, _) => false;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [0x18, 1, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, .. new byte[16]]);
        pair.Drops = static (_, _) => true;
        pair.Run(1_000);
        Assert.False(ids.TryGetAny(out _));
        Assert.Null(pair.ServerHandler.Reason);
    }

    [Fact]
    [Trait("Rfc", "9000-9.3.2")]
    public void A_new_address_that_does_not_answer_is_left_for_the_old_one()
    {
        using QuicPair pair = Connect();
        pair.ClientSource = Other;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1]);
        pair.ClientSource = QuicPair.ClientAddress;
        pair.Run(2);
        Assert.Equal(Other, pair.ServerConnection!.Paths.Active.Remote);
        Assert.False(pair.ServerConnection.Paths.Active.IsValidated);
        pair.Drops = static (fromClient, _) => fromClient;
        pair.Run(10_000);
        pair.Drops = static (_, _) => false;
        Assert.Equal(QuicPair.ClientAddress, pair.ServerConnection.Paths.Active.Remote);
        Assert.Null(pair.ServerHandler.Reason);
        Write(pair);
        pair.Run(5_000);
        Assert.NotEmpty(pair.ServerHandler.Received);
    }

    [Fact]
    [Trait("Rfc", "9000-9.3")]
    [Trait("Rfc", "9000-8")]
    public void A_new_address_is_sent_three_times_what_came_from_it_until_it_answers()
    {
        using QuicPair pair = Connect();
        pair.ClientSource = Other;
        pair.Inject(fromClient: true, PacketKind.OneRtt, [1], padTo: 500);
        int received = pair.Sent[^1].Bytes.Length;
        pair.ClientSource = QuicPair.ClientAddress;
        pair.Drops = static (_, _) => true;
        pair.Run(1);
        Assert.True(pair.ServerConnection!.Streams.TryOpen(isBidirectional: false, out QuicStream? stream));
        stream!.Write(new byte[10_000]);
        pair.Run(300);
        NetworkPath path = pair.ServerConnection.Paths.Find(QuicPair.ServerAddress, Other)!;
        Assert.InRange(path.BytesSent, (3 * received) - 100, 3 * received);
    }

    [Fact]
    [Trait("Rfc", "9000-9")]
    public void A_client_does_not_move_before_the_handshake_is_confirmed_or_where_the_server_forbids_it()
    {
        using QuicPair pair = new();
        pair.ChangeParameters = static (fromClient, parameters) => parameters.DisableActiveMigration = !fromClient;
        pair.Connect();
        Assert.False(pair.ClientConnection!.TryMigrate(Other, pair.Now));
        pair.Run(200);
        Assert.True(pair.ClientConnection.Handshake.IsConfirmed);
        Assert.False(pair.ClientConnection.TryMigrate(Other, pair.Now));
        using QuicPair free = new();
        free.Connect();
        Assert.False(free.ClientConnection!.TryMigrate(Other, free.Now));
        free.Run(200);
        Assert.True(free.ClientConnection.TryMigrate(Other, free.Now));
    }

    [Fact]
    [Trait("Rfc", "9000-9")]
    public void A_client_drops_what_comes_from_another_address_than_the_servers()
    {
        using QuicPair pair = Connect();
        pair.Inject(fromClient: false, PacketKind.OneRtt, [1]);
        PacketLog client = _ends.Single(static end => !end.IsServer);
        int received = client.Received.Count;
        byte[] bytes = [.. pair.Sent[^1].Bytes];
        pair.Flights.Clear();
        pair.Send(false, bytes, Other, QuicPair.ClientAddress);
        pair.Run(5);
        Assert.Equal(received, client.Received.Count);
        pair.Send(false, bytes, QuicPair.ServerAddress, QuicPair.ClientAddress);
        pair.Run(5);
        Assert.Equal(received + 1, client.Received.Count);
    }

    [Fact]
    [Trait("Rfc", "9000-9.5")]
    public void Each_path_has_ids_of_its_own()
    {
        using QuicPair pair = Connect();
        Assert.True(pair.ClientConnection!.TryMigrate(Other, pair.Now));
        pair.Run(100);
        Write(pair);
        pair.Run(100);
        Assert.Equal(Other, pair.ServerConnection!.Paths.Active.Remote);
        Assert.NotEqual(0, pair.ClientConnection.Paths.Active.PeerIdSequence);
        Assert.NotEqual(0, pair.ServerConnection.Paths.Active.PeerIdSequence);
    }

    private QuicPair Connect()
    {
        QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(1_000);
        Assert.True(pair.ClientConnection!.Handshake.IsConfirmed);
        return pair;
    }

    private static void Write(QuicPair pair)
    {
        Assert.True(pair.ClientConnection!.Streams.TryOpen(isBidirectional: true, out QuicStream? stream));
        stream!.Write("hello"u8);
        stream.Finish();
    }
}
