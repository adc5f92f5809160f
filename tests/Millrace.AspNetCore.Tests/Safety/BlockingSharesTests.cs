using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>Endpoints none of which blocks a reactor for too much, while all of them together do; by a clock that the test advances.</summary>
public sealed class BlockingSharesTests : IDisposable
{
    private readonly ScriptedTime _time = new();
    private readonly LogCapture _log = new();
    private readonly BlockingPolicies _policies;

    public BlockingSharesTests()
    {
        _policies = new BlockingPolicies(_time, new TransportLog(_log.CreateLogger(TransportLog.Category)));
        _time.AdvanceMs(100_000);
    }

    public void Dispose() => _log.Dispose();

    [Fact]
    public void Of_ten_endpoints_that_block_nine_percent_each_nine_leave_and_each_is_logged_once()
    {
        Endpoint[] endpoints = Endpoints(10);
        PassSeconds(3, endpoints, static _ => 9);

        Endpoint stays = Assert.Single(endpoints, endpoint => !IsOff(endpoint));
        LogEntry[] lines = [.. _log.Entries];
        Assert.All(lines, static line => Assert.Equal((LogLevel.Warning, 120), (line.Level, line.Event.Id)));
        Assert.Equal(
            endpoints.Except([stays]).Select(static endpoint => endpoint.DisplayName).Order(),
            endpoints.Where(endpoint => lines.Any(line => line.Text.StartsWith($"{endpoint.DisplayName} blocks", StringComparison.Ordinal)))
                .Select(static endpoint => endpoint.DisplayName).Order());
        Assert.Equal(9, lines.Length);

        PassSeconds(60, endpoints, static _ => 9);
        Assert.Equal(9, _log.Entries.Count);
    }

    [Fact]
    public void The_one_that_blocks_most_leaves_and_those_that_are_not_too_much_without_it_stay()
    {
        Endpoint[] endpoints = Endpoints(5);
        int[] shares = [1, 2, 6, 5, 1];
        PassSeconds(3, endpoints, index => shares[index]);

        Assert.Equal([false, false, true, false, false], endpoints.Select(IsOff));
        LogEntry line = Assert.Single(_log.Entries);
        Assert.StartsWith("endpoint 2 blocks", line.Text, StringComparison.Ordinal);
        Assert.Contains("for at least 42 ms, and all requests for 104 ms", line.Text, StringComparison.Ordinal);
    }

    [Fact]
    public void First_calls_that_wait_are_no_habit()
    {
        Endpoint[] endpoints = Endpoints(50);
        for (int round = 0; round < 2; round++)
        {
            foreach (Endpoint endpoint in endpoints)
            {
                Block(endpoint, 60);
            }

            _time.AdvanceMs(BlockingPolicies.WindowMs);
        }

        Block(null, 1);
        Assert.DoesNotContain(endpoints, IsOff);
    }

    [Fact]
    public void A_first_call_that_waits_has_no_other_endpoint_leave()
    {
        Endpoint[] endpoints = Endpoints(2);
        for (int i = 0; i < 3; i++)
        {
            Block(endpoints[0], 5);
            _time.AdvanceMs(2 * BlockingPolicies.WindowMs);
        }

        Block(endpoints[1], 300);
        Block(endpoints[0], 5);
        Assert.DoesNotContain(endpoints, IsOff);
    }

    [Fact]
    public void What_runs_before_an_endpoint_counts_and_does_not_have_all_requests_leave_for_others()
    {
        Endpoint[] endpoints = Endpoints(2);
        for (int tenth = 0; tenth < 30; tenth++)
        {
            Block(null, 9);
            PassTenth(endpoints, static _ => 1);
        }

        Assert.All(endpoints, endpoint => Assert.True(IsOff(endpoint)));
        Assert.False(_policies.WithoutEndpoint.IsOffReactor);
    }

    [Fact]
    public void A_window_that_has_ended_says_nothing()
    {
        Endpoint[] endpoints = Endpoints(10);
        for (int i = 0; i < 20; i++)
        {
            foreach (Endpoint endpoint in endpoints)
            {
                Block(endpoint, 9);
            }

            _time.AdvanceMs(BlockingPolicies.WindowMs);
        }

        Assert.DoesNotContain(endpoints, IsOff);
    }

    [Fact]
    public void An_endpoint_that_left_with_others_returns_when_it_blocks_for_less_than_half_of_what_it_did()
    {
        Endpoint[] endpoints = Endpoints(25);
        PassSeconds(3, endpoints, static _ => 4);
        Assert.Equal(2, endpoints.Count(endpoint => !IsOff(endpoint)));

        BlockingPolicy policy = _policies.Of(endpoints.Last(IsOff));
        for (int second = 0; second < 10_000; second++)
        {
            _time.AdvanceMs(1000);
            Assert.False(RunOff(policy, 20_000));
        }

        _time.AdvanceMs(BlockingPolicies.CalmMs - 1);
        Assert.False(RunOff(policy, 19_000));
        _time.AdvanceMs(1);
        Assert.True(RunOff(policy, 0));
    }

    private static Endpoint[] Endpoints(int count) =>
        [.. Enumerable.Range(0, count).Select(static i => new Endpoint(requestDelegate: null, metadata: null, $"endpoint {i}"))];

    private bool RunOff(BlockingPolicy policy, long blockedMicroseconds)
    {
        _policies.NoteBlockedOffReactor(policy, blockedMicroseconds);
        _policies.ReturnIfCalm(policy);
        return !policy.IsOffReactor;
    }

    private bool IsOff(Endpoint endpoint) => _policies.Of(endpoint).IsOffReactor;

    private void PassSeconds(int seconds, Endpoint[] endpoints, Func<int, int> blockedMs)
    {
        for (int tenth = 0; tenth < 10 * seconds; tenth++)
        {
            PassTenth(endpoints, blockedMs);
        }
    }

    /// <summary>A tenth of a second, in which each endpoint whose requests run on reactors blocks one in one callback.</summary>
    private void PassTenth(Endpoint[] endpoints, Func<int, int> blockedMs)
    {
        for (int i = 0; i < endpoints.Length; i++)
        {
            if (!IsOff(endpoints[i]))
            {
                Block(endpoints[i], blockedMs(i));
            }
        }

        _time.AdvanceMs(100);
    }

    private void Block(Endpoint? endpoint, int blockedMs) =>
        _policies.NoteBlocked(endpoint, endpoint?.DisplayName ?? "GET /", isNewCallback: true, blockedMs);
}
