using Millrace.Quic.Connections;
using Millrace.Quic.Packets;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Connections;

/// <summary>Members of a connection that need nothing of the others.</summary>
public sealed class MemberTests
{
    private const long Second = QuicClock.Second;

    [Fact]
    [Trait("Rfc", "9000-10.1")]
    public void The_idle_timer_restarts_for_what_is_received_and_the_first_that_is_sent_after_it()
    {
        IdleTimer timer = new(10 * Second, 0, 0, 0);
        timer.OnAckElicitingSent(1 * Second);
        Assert.Equal(11 * Second, timer.Deadline(0));
        timer.OnAckElicitingSent(5 * Second);
        Assert.Equal(11 * Second, timer.Deadline(0));
        timer.OnReceived(6 * Second);
        timer.OnAckElicitingSent(7 * Second);
        Assert.Equal(17 * Second, timer.Deadline(0));
    }

    [Fact]
    [Trait("Rfc", "9000-10.1")]
    public void The_idle_timeout_is_the_shorter_one_and_no_less_than_three_probe_timeouts()
    {
        IdleTimer timer = new(10 * Second, 0, 0, 0);
        timer.ApplyPeerTimeout(0);
        Assert.Equal(10 * Second, timer.Timeout);
        timer.ApplyPeerTimeout(4 * Second);
        Assert.Equal(4 * Second, timer.Deadline(Second));
        Assert.Equal(6 * Second, timer.Deadline(2 * Second));
    }

    [Fact]
    public void A_handshake_has_a_deadline_that_activity_does_not_move()
    {
        IdleTimer timer = new(30 * Second, 0, 10 * Second, 0);
        timer.OnReceived(9 * Second);
        Assert.Equal(10 * Second, timer.Deadline(0));
        timer.OnHandshakeComplete();
        Assert.Equal(39 * Second, timer.Deadline(0));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2.1")]
    public void A_closing_connection_replies_ever_more_rarely()
    {
        CloseState state = new();
        state.EnterClosing(Second, 0);
        int replies = 0;
        for (int i = 0; i < 1_000; i++)
        {
            replies += state.IsClosePending ? 1 : 0;
            state.OnCloseSent(60);
            state.OnReceived(30);
        }

        Assert.Equal(11, replies);
        state.OnTimeout(3 * Second);
        Assert.Equal(CloseStage.Closed, state.Stage);
    }

    [Fact]
    [Trait("Rfc", "9000-10.2.2")]
    public void A_draining_connection_sends_nothing()
    {
        CloseState state = new();
        state.EnterDraining(Second, 0);
        state.OnReceived(1_000);
        Assert.False(state.IsClosePending);
        Assert.Equal(3 * Second, state.NextTimeout);
    }

    [Fact]
    [Trait("Rfc", "9000-21.9")]
    public void Frames_without_data_are_limited_and_time_gives_some_back()
    {
        ControlFrameBudget budget = new();
        int taken = 0;
        while (budget.TryTake(1, 0))
        {
            taken++;
        }

        Assert.Equal(ControlFrameBudget.Capacity, taken);
        Assert.False(budget.TryTake(1, 0));
        Assert.True(budget.TryTake(400, Second));
        budget.Return(2_000);
        Assert.True(budget.TryTake(2_000, Second));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.3")]
    public void A_token_of_a_retry_is_of_its_address_and_its_time()
    {
        AddressTokens tokens = new(new TestCryptography(1));
        PathAddress client = PathAddress.FromIPv4(0x7F000001, 4000);
        ConnectionId original = new([1, 2, 3, 4, 5, 6, 7, 8]);
        ConnectionId source = new([9, 9]);
        Span<byte> token = stackalloc byte[AddressTokens.MaximumLength];
        token = token[..tokens.WriteRetry(client, original, source, 100, token)];
        Assert.Equal(TokenResult.Retried, tokens.Read(token, client, 200, out ConnectionId first, out ConnectionId second));
        Assert.Equal(original, first);
        Assert.Equal(source, second);
        Assert.Equal(TokenResult.InvalidRetry, tokens.Read(token, client with { Port = 4001 }, 200, out _, out _));
        Assert.Equal(TokenResult.InvalidRetry, tokens.Read(token, client, 16 * Second, out _, out _));
        Assert.Equal(TokenResult.InvalidRetry, new AddressTokens(new TestCryptography(1, secret: 2)).Read(token, client, 200, out _, out _));
        token[5] ^= 1;
        Assert.Equal(TokenResult.InvalidRetry, tokens.Read(token, client, 200, out _, out _));
        Assert.Equal(TokenResult.Unknown, tokens.Read([1, 2, 3], client, 200, out _, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.3")]
    public void A_token_for_later_is_of_an_address_with_any_port()
    {
        AddressTokens tokens = new(new TestCryptography(1));
        PathAddress client = PathAddress.FromIPv4(0x7F000001, 4000);
        Span<byte> token = stackalloc byte[AddressTokens.MaximumLength];
        token = token[..tokens.WriteNewToken(client, 100, token)];
        Assert.Equal(TokenResult.Validated, tokens.Read(token, client with { Port = 1 }, 200, out _, out _));
        Assert.Equal(TokenResult.Unknown, tokens.Read(token, PathAddress.FromIPv4(0x7F000002, 4000), 200, out _, out _));
        Assert.Equal(TokenResult.Unknown, tokens.Read(token, client, 25 * 3600 * Second, out _, out _));
    }

    [Fact]
    [Trait("Rfc", "9000-8.1")]
    public void A_path_may_be_sent_three_times_what_came_from_it_until_it_is_valid()
    {
        NetworkPath path = new(0, default, default, 1452);
        path.OnReceived(1200, 0);
        path.OnSent(3000);
        Assert.Equal(600, path.Allowance);
        Assert.True(path.IsLimited);
        path.OnSent(600);
        Assert.True(path.IsBlocked);
        path.IsValidated = true;
        Assert.Equal(int.MaxValue, path.Allowance);
    }

    [Fact]
    [Trait("Rfc", "9001-6.3")]
    public void Keys_are_chosen_by_phase_and_number()
    {
        using KeyPhases keys = new(long.MaxValue);
        keys.InstallSending(new PlainProtector(1));
        keys.InstallReceiving(new PlainProtector(2));
        Assert.Equal(KeyGeneration.Current, keys.Choose(false, 5));
        Assert.True(keys.TryAccept(KeyGeneration.Current, 5, Second, 0));
        Assert.Equal(KeyGeneration.Next, keys.Choose(true, 6));
        Assert.True(keys.TryAccept(KeyGeneration.Next, 8, Second, 0));
        Assert.True(keys.Phase);
        Assert.Equal(KeyGeneration.Current, keys.Choose(true, 9));
        Assert.Equal(KeyGeneration.Previous, keys.Choose(false, 7));
        Assert.Equal(KeyGeneration.Next, keys.Choose(false, 9));
        keys.OnTimeout(3 * Second);
        Assert.Equal(KeyGeneration.Discarded, keys.Choose(false, 7));
    }

    [Fact]
    [Trait("Rfc", "9001-6.2")]
    public void A_second_update_before_this_end_has_sent_is_an_error()
    {
        using KeyPhases keys = new(long.MaxValue);
        keys.InstallSending(new PlainProtector(1));
        keys.InstallReceiving(new PlainProtector(2));
        Assert.True(keys.TryAccept(KeyGeneration.Next, 8, Second, 0));
        Assert.False(keys.TryAccept(KeyGeneration.Next, 9, Second, 0));
        keys.OnSending(3);
        Assert.True(keys.TryAccept(KeyGeneration.Next, 9, Second, 0));
    }

    [Fact]
    [Trait("Rfc", "9001-6.1")]
    public void An_own_update_waits_for_an_acknowledgement_of_the_current_keys()
    {
        using KeyPhases keys = new(long.MaxValue);
        keys.InstallSending(new PlainProtector(1));
        keys.InstallReceiving(new PlainProtector(2));
        keys.OnSending(4);
        Assert.False(keys.TryUpdate(isHandshakeConfirmed: true));
        keys.OnAcknowledged(4);
        Assert.False(keys.TryUpdate(isHandshakeConfirmed: false));
        Assert.True(keys.TryUpdate(isHandshakeConfirmed: true));

        // The peer has not followed: what it still sends is opened however long that takes.
        keys.OnTimeout(1_000 * Second);
        Assert.Equal(KeyGeneration.Previous, keys.Choose(false, 100));
        Assert.False(keys.TryUpdate(isHandshakeConfirmed: true));
    }

    [Fact]
    [Trait("Rfc", "9001-6.6")]
    public void The_last_packets_of_a_limit_are_left_for_closing()
    {
        var counts = new ProtectorCounts { ConfidentialityLimit = 100 };
        using KeyPhases keys = new(long.MaxValue);
        keys.InstallSending(new PlainProtector(1, counts));
        for (int i = 0; i < 68; i++)
        {
            Assert.False(keys.IsSendingExhausted);
            keys.OnSending(i);
        }

        Assert.True(keys.IsSendingExhausted);
    }
}
