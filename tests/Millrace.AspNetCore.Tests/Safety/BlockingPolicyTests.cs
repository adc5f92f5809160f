using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>When the requests of an endpoint leave the reactors and come back, by a clock that the test advances.</summary>
public sealed class BlockingPolicyTests : IDisposable
{
    private readonly ScriptedTime _time = new();
    private readonly LogCapture _log = new();
    private readonly BlockingPolicies _policies;
    private readonly Endpoint _endpoint = new(requestDelegate: null, metadata: null, "the endpoint");
    private readonly BlockingPolicy _policy;

    public BlockingPolicyTests()
    {
        _policies = new BlockingPolicies(_time, new TransportLog(_log.CreateLogger(TransportLog.Category)));
        _policy = _policies.Of(_endpoint);
        _time.AdvanceMs(5_000);
    }

    public void Dispose() => _log.Dispose();

    [Fact]
    public void An_endpoint_that_blocks_a_tenth_of_the_time_in_several_callbacks_leaves_once()
    {
        bool[] isOff = [.. Enumerable.Range(0, 20).Select(_ => Block(passMs: 45, blockedMs: 5))];

        Assert.Equal(19, Array.IndexOf(isOff, true));
        Assert.True(Block(passMs: 0, blockedMs: 1_000));
        Assert.Single(_log.Entries);
    }

    [Fact]
    public void An_endpoint_that_blocks_less_stays_however_long_it_goes_on()
    {
        for (int i = 0; i < 10_000; i++)
        {
            Assert.False(Block(passMs: 60, blockedMs: 5));
        }
    }

    [Fact]
    public void Two_long_waits_are_no_habit()
    {
        Assert.False(Block(passMs: 1, blockedMs: 5));
        Assert.False(Block(passMs: 1, blockedMs: 5));
        for (int i = 0; i < 1_000; i++)
        {
            _time.AdvanceMs(1);
            _policies.NoteBlocked(_endpoint, "the endpoint", isNewCallback: false, 5);
        }

        Assert.False(_policy.IsOffReactor);
    }

    [Fact]
    public void Waits_that_are_longer_than_half_a_window_are_a_habit_at_the_third()
    {
        Assert.Equal([false, false, true], Enumerable.Range(0, 3).Select(_ => Block(passMs: 700, blockedMs: 600)));
    }

    [Fact]
    public void A_long_wait_long_after_others_is_no_habit()
    {
        for (int i = 0; i < 100; i++)
        {
            Assert.False(Block(passMs: 10_000, blockedMs: 600));
        }
    }

    [Fact]
    public void An_endpoint_that_has_not_blocked_for_a_minute_returns()
    {
        Leave();
        for (int second = 1; second < 60; second++)
        {
            Assert.False(RunOff(passMs: 1_000, blockedMs: 49));
        }

        Assert.True(RunOff(passMs: 1_000, blockedMs: 0));
        Assert.False(_policy.IsOffReactor);
        Assert.False(RunOff(passMs: 1_000, blockedMs: 0));
    }

    [Fact]
    public void An_endpoint_that_goes_on_blocking_does_not_return()
    {
        Leave();
        for (int i = 0; i < 10_000; i++)
        {
            Assert.False(RunOff(passMs: 400, blockedMs: 25));
        }
    }

    [Fact]
    public void The_minute_begins_again_whenever_it_blocks_and_a_later_departure_is_no_warning()
    {
        for (int departures = 1; departures <= 3; departures++)
        {
            Leave();
            Assert.False(RunOff(passMs: BlockingPolicies.CalmMs - 1, blockedMs: 60));
            Assert.False(RunOff(passMs: BlockingPolicies.CalmMs - 1, blockedMs: 0));
            Assert.True(RunOff(passMs: 1, blockedMs: 0));
        }

        Assert.Single(_log.Entries, static entry => entry.Level == LogLevel.Warning);
    }

    [Fact]
    public void An_endpoint_without_requests_returns_with_the_next_one()
    {
        Leave();
        Assert.True(RunOff(passMs: 10_000_000, blockedMs: 20));
    }

    [Fact]
    public void What_blocks_right_after_it_has_left_may_have_begun_before_and_later_it_is_code_before_the_endpoint()
    {
        Leave();
        for (int i = 0; i < 100; i++)
        {
            Block(passMs: 9, blockedMs: 50);
        }

        Assert.False(_policies.WithoutEndpoint.IsOffReactor);
        for (int i = 0; i < 20; i++)
        {
            Block(passMs: 9, blockedMs: 50);
        }

        Assert.True(_policies.WithoutEndpoint.IsOffReactor);
    }

    private void Leave()
    {
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(i == 2, Block(passMs: 1, blockedMs: 40));
        }
    }

    /// <summary>Whether it is off after that.</summary>
    private bool Block(long passMs, long blockedMs)
    {
        _time.AdvanceMs(passMs);
        _policies.NoteBlocked(_endpoint, "the endpoint", isNewCallback: true, blockedMs);
        return _policy.IsOffReactor;
    }

    /// <summary>Whether it has returned with that.</summary>
    private bool RunOff(long passMs, long blockedMs)
    {
        bool wasOff = _policy.IsOffReactor;
        _time.AdvanceMs(passMs);
        _policies.NoteBlockedOffReactor(_policy, 1000 * blockedMs);
        _policies.ReturnIfCalm(_policy);
        return wasOff && !_policy.IsOffReactor;
    }
}
