using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>When the requests of an endpoint leave the reactors and come back, by a clock of the test's own.</summary>
public class BlockingPolicyTests
{
    private readonly ScriptedTime _time = new();
    private readonly BlockingPolicies _policies;
    private readonly Endpoint _endpoint = new(requestDelegate: null, metadata: null, "the endpoint");
    private readonly BlockingPolicy _policy;

    public BlockingPolicyTests()
    {
        _policies = new BlockingPolicies(_time, new TransportLog(NullLogger.Instance));
        _policy = _policies.Of(_endpoint);
        _time.AdvanceMs(5_000);
    }

    [Fact]
    public void Who_blocks_a_tenth_of_the_time_in_several_callbacks_leaves_once()
    {
        bool[] isOff = [.. Enumerable.Range(0, 20).Select(_ => Block(passMs: 45, blockedMs: 5))];

        Assert.Equal(19, Array.IndexOf(isOff, true));
        Assert.True(Block(passMs: 0, blockedMs: 1_000));
        Assert.Equal(1, _policy.Departures);
    }

    [Fact]
    public void Who_blocks_several_reactors_for_a_tenth_of_the_time_in_all_leaves()
    {
        bool[] isOff = [.. Enumerable.Range(0, 20).Select(i => Block(passMs: 45, blockedMs: 5, reactor: i % 4))];

        Assert.Equal(19, Array.IndexOf(isOff, true));
    }

    [Fact]
    public void Who_blocks_less_stays_however_long_it_goes_on()
    {
        for (int i = 0; i < 10_000; i++)
        {
            Assert.False(Block(passMs: 60, blockedMs: 5));
        }
    }

    [Fact]
    public void One_long_wait_on_each_of_two_reactors_is_no_habit()
    {
        Assert.False(Block(passMs: 1, blockedMs: 5));
        Assert.False(Block(passMs: 1, blockedMs: 5, reactor: 1));
        for (int i = 0; i < 1_000; i++)
        {
            _time.AdvanceMs(1);
            _policies.NoteBlocked(i % 2, _endpoint, "the endpoint", isNewCallback: false, 5);
        }

        Assert.False(_policy.IsOff);
    }

    [Fact]
    public void Who_has_not_blocked_for_a_minute_comes_back()
    {
        Leave();
        for (int second = 1; second < 60; second++)
        {
            Assert.False(RunOff(passMs: 1_000, blockedMs: 49));
        }

        Assert.True(RunOff(passMs: 1_000, blockedMs: 0));
        Assert.False(_policy.IsOff);
        Assert.False(RunOff(passMs: 1_000, blockedMs: 0));
    }

    [Fact]
    public void Who_goes_on_blocking_does_not_come_back()
    {
        Leave();
        for (int i = 0; i < 10_000; i++)
        {
            Assert.False(RunOff(passMs: 400, blockedMs: 25));
        }
    }

    [Fact]
    public void A_calm_begins_again_with_each_relapse_and_lasts_twice_as_long_after_each_departure_up_to_an_hour()
    {
        for (int departures = 1; departures <= 12; departures++)
        {
            Leave();
            long calmMs = Math.Min(60_000L << (departures - 1), 3_600_000);
            Assert.Equal(calmMs, _policy.CalmMs);
            Assert.False(RunOff(passMs: calmMs - 1, blockedMs: 60));
            Assert.False(RunOff(passMs: calmMs - 1, blockedMs: 0));
            Assert.True(RunOff(passMs: 1, blockedMs: 0));
        }
    }

    [Fact]
    public void One_that_nobody_asks_for_comes_back_with_the_next_request_after_the_calm()
    {
        Leave();
        Assert.True(RunOff(passMs: 10_000_000, blockedMs: 20));
    }

    [Fact]
    public void What_is_seen_right_after_it_has_left_may_have_begun_before()
    {
        Leave();
        Assert.True(_policy.HasJustLeft(_policies.NowMs + 999));
        Assert.False(_policy.HasJustLeft(_policies.NowMs + 1_000));
    }

    private void Leave()
    {
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(i == 2, Block(passMs: 1, blockedMs: 40));
        }
    }

    /// <summary>Whether it is off after that.</summary>
    private bool Block(long passMs, long blockedMs, int reactor = 0)
    {
        _time.AdvanceMs(passMs);
        _policies.NoteBlocked(reactor, _endpoint, "the endpoint", isNewCallback: true, blockedMs);
        return _policy.IsOff;
    }

    private bool RunOff(long passMs, long blockedMs)
    {
        _time.AdvanceMs(passMs);
        _policy.NoteBlockedOffReactor(1000 * blockedMs, _policies.NowMs);
        return _policy.ReturnIfCalm(_policies.NowMs);
    }
}
