using Millrace.Quic.Connections;
using Millrace.Quic.Packets;

namespace Millrace.Quic.Tests.Connections;

public sealed class ConnectionIdTableTests
{
    private readonly Source _source = new();

    [Fact]
    [Trait("Rfc", "9000-5.1.1")]
    public void As_many_ids_are_issued_as_the_peer_keeps_and_a_new_one_for_each_retired()
    {
        LocalConnectionIds ids = new(null!, _source);
        Assert.False(ids.HasPending);
        ids.SetPeerLimit(3);
        Assert.Equal([1, 2], Taken(ids));
        Assert.True(ids.TryRetire(0, ofPacket: 1));
        Assert.Equal([3], Taken(ids));
        Assert.Equal(3, _source.Active.Count);
        ids.RetireAll();
        Assert.Empty(_source.Active);
    }

    [Fact]
    [Trait("Rfc", "9000-19.16")]
    public void An_id_of_its_own_packet_and_one_never_issued_cannot_be_retired()
    {
        LocalConnectionIds ids = new(null!, _source);
        ids.SetPeerLimit(2);
        Assert.False(ids.TryRetire(1, ofPacket: 1));
        Assert.False(ids.TryRetire(2, ofPacket: 1));
        Assert.True(ids.TryRetire(0, ofPacket: 1));
        Assert.True(ids.TryRetire(0, ofPacket: 1));
    }

    [Fact]
    public void A_lost_frame_is_sent_again_only_while_its_id_is_active()
    {
        LocalConnectionIds ids = new(null!, _source);
        ids.SetPeerLimit(2);
        Assert.Equal([1], Taken(ids));
        ids.OnLost(1);
        Assert.Equal([1], Taken(ids));
        Assert.True(ids.TryRetire(1, ofPacket: 0));
        Assert.Equal([2], Taken(ids));
        ids.OnLost(1);
        Assert.False(ids.HasPending);
    }

    [Fact]
    [Trait("Rfc", "9000-5.1.2")]
    public void Ids_that_the_peer_wants_retired_are()
    {
        PeerConnectionIds ids = Make();
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(2, 2, Id(2), 102));
        Assert.Equal([0, 1], Retired(ids));
        Assert.False(ids.TryGet(0, out _));
        Assert.True(ids.TryUse(out long sequence));
        Assert.Equal(2, sequence);
        ids.OnRetireLost(0);
        Assert.Equal([0], Retired(ids));
        ids.OnRetireAcknowledged(0);
        ids.OnRetireLost(0);
        Assert.Empty(Retired(ids));
    }

    [Fact]
    [Trait("Rfc", "9000-19.15")]
    public void A_repetition_is_ignored_and_a_contradiction_is_not()
    {
        PeerConnectionIds ids = Make();
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Equal(PeerIdResult.Contradiction, ids.OnNewConnectionId(1, 0, Id(7), 101));
        Assert.Equal(PeerIdResult.Contradiction, ids.OnNewConnectionId(1, 0, Id(1), 999));
        Assert.Equal(PeerIdResult.Contradiction, ids.OnNewConnectionId(5, 0, Id(1), 101));
    }

    [Fact]
    public void A_repetition_of_a_retired_id_does_not_bring_it_back()
    {
        PeerConnectionIds ids = Make();
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        ids.Retire(1);
        Assert.Equal([1], Retired(ids));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.False(ids.TryGet(1, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-5.1.2")]
    [Trait("Rfc", "9000-19.15")]
    public void An_id_that_arrives_after_it_was_to_be_retired_is_retired_at_once()
    {
        PeerConnectionIds ids = Make();
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(2, 2, Id(2), 102));
        Assert.Equal([0], Retired(ids));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Equal([1], Retired(ids));
        Assert.False(ids.TryGet(1, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-19.15")]
    public void A_peer_whose_id_is_empty_gives_no_others()
    {
        PeerConnectionIds ids = new(null!, _source, new ConnectionId([]));
        Assert.Equal(PeerIdResult.Contradiction, ids.OnNewConnectionId(1, 0, Id(1), 101));
    }

    [Fact]
    [Trait("Rfc", "9000-19.15")]
    public void A_repetition_may_ask_for_more_to_be_retired()
    {
        PeerConnectionIds ids = Make();
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 1, Id(1), 101));
        Assert.Equal([0], Retired(ids));
        Assert.True(ids.TryGet(1, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-5.1.1")]
    public void More_ids_than_the_limit_are_an_error()
    {
        PeerConnectionIds ids = Make();
        for (int i = 1; i < PeerConnectionIds.Limit; i++)
        {
            Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(i, 0, Id(i), (uint)i));
        }

        Assert.Equal(PeerIdResult.TooMany, ids.OnNewConnectionId(PeerConnectionIds.Limit, 0, Id(60), 60));
    }

    [Fact]
    [Trait("Rfc", "9000-5.1.2")]
    public void A_peer_that_has_ids_retired_without_end_is_stopped()
    {
        PeerConnectionIds ids = Make();
        PeerIdResult result = PeerIdResult.Accepted;
        int count = 0;
        for (int i = 1; i < 1_000 && result == PeerIdResult.Accepted; i++, count++)
        {
            result = ids.OnNewConnectionId(i, i, Id(i), (uint)i);
            Retired(ids);
        }

        Assert.Equal(PeerIdResult.TooMany, result);
        Assert.InRange(count, 8, 40);
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.1")]
    public void Only_tokens_of_ids_in_use_are_those_of_a_reset()
    {
        PeerConnectionIds ids = Make();
        ids.SetFirstToken(100);
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.True(ids.IsResetToken(100));
        Assert.False(ids.IsResetToken(101));
        Assert.True(ids.TryUse(out _));
        Assert.True(ids.IsResetToken(101));
        ids.Retire(1);
        Assert.False(ids.IsResetToken(101));
        Assert.Equal([100], _source.Tokens);
    }

    [Fact]
    [Trait("Rfc", "9000-19.15")]
    public void An_id_below_what_is_to_be_retired_is_retired_once_and_no_lower_limit_counts()
    {
        PeerConnectionIds ids = Make();
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(3, 3, Id(3), 103));
        Assert.Equal([0], Retired(ids));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Equal([1], Retired(ids));
        Assert.Equal(PeerIdResult.Accepted, ids.OnNewConnectionId(1, 0, Id(1), 101));
        Assert.Empty(Retired(ids));
        Assert.False(ids.TryGet(1, out _));
        Assert.True(ids.TryGet(3, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-19.15")]
    public void A_peer_with_an_empty_id_gives_no_others()
    {
        PeerConnectionIds ids = new(null!, _source, new ConnectionId([]));
        Assert.Equal(PeerIdResult.Contradiction, ids.OnNewConnectionId(1, 0, Id(1), 101));
    }

    private PeerConnectionIds Make() => new(null!, _source, Id(50));

    private static ConnectionId Id(int value) => new([(byte)value, 1, 2, 3]);

    private static List<long> Taken(LocalConnectionIds ids)
    {
        List<long> taken = [];
        while (ids.TryTakePending(out long sequence, out _, out _))
        {
            taken.Add(sequence);
        }

        return taken;
    }

    private static List<long> Retired(PeerConnectionIds ids)
    {
        List<long> retired = [];
        while (ids.TryTakePending(out long sequence))
        {
            retired.Add(sequence);
        }

        return retired;
    }

    private sealed class Source : IConnectionIdSource
    {
        private byte _next;

        public HashSet<ConnectionId> Active { get; } = [];

        public HashSet<UInt128> Tokens { get; } = [];

        public ConnectionId Create(QuicConnection connection, out UInt128 resetToken)
        {
            ConnectionId id = new([_next++]);
            resetToken = _next;
            Active.Add(id);
            return id;
        }

        public void Retire(QuicConnection connection, in ConnectionId id) => Assert.True(Active.Remove(id));

        public void AddResetToken(QuicConnection connection, UInt128 token) => Tokens.Add(token);

        public void RemoveResetToken(QuicConnection connection, UInt128 token) => Assert.True(Tokens.Remove(token));
    }
}
