using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Sizes, times and ids of what validates a path, as a server sends it (RFC 9000, sections 8.2, 9.3 to 9.5).</summary>
public sealed class PathValidationTests
{
    private static readonly PathAddress Other = PathAddress.FromIPv4(0x0A000099, 6000);

    private readonly List<PacketLog> _ends = [];

    private PacketLog Server => _ends.Single(static end => end.IsServer);

    [Fact]
    [Trait("Rfc", "9000-8.2.1")]
    public void A_challenge_is_in_a_datagram_of_1200_bytes()
    {
        using QuicPair pair = Connect();
        pair.Sent.Clear();
        Assert.True(pair.ClientConnection!.TryMigrate(Other, pair.Now));
        pair.Pump();
        Assert.StartsWith("PathChallenge", _ends.Single(static end => !end.IsServer).Sent[^1].Frames, StringComparison.Ordinal);
        Assert.Equal(1200, Assert.Single(pair.Sent).Bytes.Length);
    }

    [Theory]
    [Trait("Rfc", "9000-8.2.1")]
    [Trait("Rfc", "9000-8.2.2")]
    [Trait("Rfc", "9000-8.2.3")]
    [InlineData(false)]
    [InlineData(true)]
    public void A_small_challenge_is_answered_from_anywhere_and_repeated_in_a_large_datagram(bool isFromElsewhere)
    {
        using QuicPair pair = Connect();
        NetworkPath path = AnswerSmallChallenge(pair, isFromElsewhere ? QuicPair.ClientAddress : Other);
        Assert.True(path.IsValidated);
        (PathAddress _, int size, string frames) = Assert.Single(Drain(pair), static sent => sent.To == Other && IsChallenge(sent.Frames));
        Assert.Equal((1200, true), (size, path.Challenges.IsRunning));
        Respond(pair, frames, Other);
        Assert.False(path.Challenges.IsRunning);
    }

    [Fact]
    [Trait("Rfc", "9000-8.2.2")]
    public void A_response_is_not_larger_than_the_limit_of_an_address_that_is_not_known()
    {
        using QuicPair pair = Connect();
        byte[] packet = Make(pair, [0x1A, 1, 2, 3, 4, 5, 6, 7, 8]);
        Deliver(pair, packet, Other);
        var sent = Drain(pair).Where(static sent => sent.To == Other).ToList();
        Assert.Contains(sent, static sent => sent.Frames.Contains("PathResponse 0102030405060708", StringComparison.Ordinal));
        Assert.InRange(sent.Sum(static sent => sent.Size), 1, 3 * packet.Length);
    }

    [Fact]
    [Trait("Rfc", "9000-9.3.2")]
    public void A_server_whose_path_fails_without_another_ends_without_a_word()
    {
        using QuicPair pair = Connect();
        AnswerSmallChallenge(pair, Other);
        pair.Drops = static (_, _) => true;
        pair.Run(15_000);
        Assert.Equal(CloseSource.NoPath, pair.ServerHandler.Reason!.Value.Source);
        Assert.DoesNotContain(Server.Sent, static packet => packet.Frames.Contains("ConnectionClose", StringComparison.Ordinal));
        Assert.Empty(pair.Server.Connections);
    }

    [Theory]
    [Trait("Rfc", "9000-9.4")]
    [InlineData(true)]
    [InlineData(false)]
    public void Congestion_and_round_trip_time_begin_again_for_another_address_and_not_for_another_port(bool isAddress)
    {
        using QuicPair pair = Connect();
        QuicConnection server = pair.ServerConnection!;
        Assert.True(server.Streams.TryOpen(isBidirectional: false, out QuicStream? stream));
        for (int i = 0; i < 20; i++)
        {
            stream!.Write(new byte[20_000]);
            pair.Run(20);
        }

        long window = server.Recovery.Congestion.Window;
        Assert.True(window > 20_000);
        Deliver(pair, Make(pair, [1]), isAddress ? Other : QuicPair.ClientAddress with { Port = 5001 });
        Assert.NotEqual(QuicPair.ClientAddress, server.Paths.Active.Remote);
        Assert.Equal(!isAddress, server.Recovery.Rtt.HasSample);
        Assert.Equal(isAddress, server.Recovery.Congestion.Window <= 14_720);
        Assert.Equal(!isAddress, server.Recovery.Congestion.Window == window);
    }

    [Fact]
    [Trait("Rfc", "9000-9.4")]
    public void Challenges_follow_each_other_after_twice_the_time_of_before()
    {
        PathChallenges challenges = new();
        challenges.Start(100, 10_000, 0);
        foreach ((long at, long next) in new (long, long)[] { (0, 100), (100, 300), (300, 700), (700, 1_500) })
        {
            Assert.True(challenges.IsChallengeDue(at));
            challenges.OnChallengeSent((ulong)at, isExpanded: true, at);
            Assert.Equal(next, challenges.NextTimeout);
        }
    }

    [Fact]
    [Trait("Rfc", "9000-9.4")]
    public void Another_address_is_asked_again_no_sooner_than_one_of_a_new_connection_would_be()
    {
        using QuicPair pair = Connect();
        Deliver(pair, Make(pair, [1], 300), Other);
        Assert.Single(Drain(pair), static sent => sent.To == Other && IsChallenge(sent.Frames));
        long start = pair.Now;
        QuicConnection server = pair.ServerConnection!;
        while (!Drain(pair).Exists(static sent => sent.To == Other && IsChallenge(sent.Frames)))
        {
            pair.Now = server.NextTimeout;
            Assert.True(pair.Now < start + (2_000 * QuicPair.Millisecond));
            server.OnTimeout(pair.Now);
        }

        Assert.InRange(pair.Now - start, 3 * RttEstimator.InitialRtt, 4 * RttEstimator.InitialRtt);
    }

    [Theory]
    [Trait("Rfc", "9000-9.5")]
    [InlineData(0, true)]
    [InlineData(1, false)]
    public void Without_an_unused_id_another_address_is_sent_to_only_if_the_peer_has_not_changed_its_own(int sequence, bool isFollowed)
    {
        using QuicPair pair = Connect();
        QuicConnection server = pair.ServerConnection!;
        while (server.PeerIds.TryUse(out _))
        {
        }

        pair.ClientConnection!.Paths.Active.PeerIdSequence = sequence;
        Deliver(pair, Make(pair, [0x1A, 1, 2, 3, 4, 5, 6, 7, 8, 1], 300), Other);
        Assert.Equal(isFollowed, Drain(pair).Exists(static sent => sent.To == Other));
        Assert.Equal(isFollowed ? Other : QuicPair.ClientAddress, server.Paths.Active.Remote);
    }

    private QuicPair Connect()
    {
        QuicPair pair = new(PacketLog.Into(_ends));
        pair.Connect();
        pair.Run(1_000);
        Assert.True(pair.ClientConnection!.Handshake.IsConfirmed);
        return pair;
    }

    /// <summary>A small packet from another address, and the response to the small challenge that it gets.</summary>
    private NetworkPath AnswerSmallChallenge(QuicPair pair, PathAddress from)
    {
        byte[] packet = Make(pair, [1]);
        Deliver(pair, packet, Other);
        (PathAddress _, int size, string frames) = Assert.Single(Drain(pair), static sent => sent.To == Other && IsChallenge(sent.Frames));
        Assert.InRange(size, 1, 3 * packet.Length);
        Respond(pair, frames, from);
        return pair.ServerConnection!.Paths.Find(QuicPair.ServerAddress, Other)!;
    }

    private static void Respond(QuicPair pair, string frames, PathAddress from)
    {
        string challenge = frames.Split("; ").Single(IsChallenge);
        Deliver(pair, Make(pair, [0x1B, .. Convert.FromHexString(challenge.Split(' ')[1])]), from);
    }

    private static bool IsChallenge(string frames) => frames.Contains("PathChallenge", StringComparison.Ordinal);

    /// <summary>A packet of the client that does not arrive by itself.</summary>
    private static byte[] Make(QuicPair pair, byte[] frames, int padTo = 0)
    {
        pair.Drops = static (_, _) => true;
        pair.Inject(fromClient: true, PacketKind.OneRtt, frames, padTo: padTo);
        pair.Drops = static (_, _) => false;
        return pair.Sent[^1].Bytes;
    }

    private static void Deliver(QuicPair pair, byte[] packet, PathAddress from) => pair.Server.Receive(
        packet, from, QuicPair.ServerAddress, EcnMark.NotEct, new byte[1200], out _, pair.Now);

    /// <summary>What the server sends now; it does not arrive.</summary>
    private List<(PathAddress To, int Size, string Frames)> Drain(QuicPair pair)
    {
        List<(PathAddress, int, string)> sent = [];
        byte[] buffer = new byte[2048];
        for (int length; (length = pair.ServerConnection!.Send(buffer, 1, out DatagramInfo info, pair.Now)) > 0;)
        {
            sent.Add((info.Remote, length, Server.Sent[^1].Frames));
        }

        return sent;
    }
}
