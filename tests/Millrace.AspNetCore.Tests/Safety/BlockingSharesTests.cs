using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>Endpoints none of which blocks a reactor for too much, while all of them together do; by a clock of the test's own.</summary>
public sealed class BlockingSharesTests : IDisposable
{
    private readonly ScriptedTime _time = new();
    private readonly LogCapture _log = new();
    private readonly BlockingPolicies _records;

    public BlockingSharesTests()
    {
        _records = new BlockingPolicies(_time, new TransportLog(_log.CreateLogger(TransportLog.Category)));
        _time.AdvanceMs(100_000);
    }

    public void Dispose() => _log.Dispose();

    [Fact]
    public void Of_ten_endpoints_that_block_nine_percent_each_those_leave_that_are_too_many_and_each_is_logged_once()
    {
        Endpoint[] endpoints = Endpoints(10);
        PassSeconds(3, endpoints, static _ => 9);

        Endpoint stays = Assert.Single(endpoints, endpoint => !IsOff(endpoint));
        LogEntry[] lines = [.. _log.Entries];
        Assert.All(lines, static line => Assert.Equal((LogLevel.Warning, 124), (line.Level, line.Event.Id)));
        Assert.All(lines, static line => Assert.Contains("for 900 ms of 1000 ms", line.Text, StringComparison.Ordinal));
        Assert.Equal(
            endpoints.Except([stays]).Select(static endpoint => endpoint.DisplayName).Order(),
            endpoints.Where(endpoint => lines.Any(line => line.Text.Contains($"by {endpoint.DisplayName}.", StringComparison.Ordinal)))
                .Select(static endpoint => endpoint.DisplayName).Order());
        Assert.Equal(9, lines.Length);

        PassSeconds(60, endpoints, static _ => 9);
        Assert.Equal(9, _log.Entries.Count);
    }

    [Fact]
    public void Who_has_blocked_most_leaves_and_who_is_not_too_much_without_it_stays()
    {
        Endpoint[] endpoints = Endpoints(5);
        int[] shares = [1, 2, 6, 5, 1];
        PassSeconds(3, endpoints, index => shares[index]);

        Assert.Equal([false, false, true, false, false], endpoints.Select(IsOff));
        LogEntry line = Assert.Single(_log.Entries);
        Assert.Contains("for 150 ms of 1000 ms", line.Text, StringComparison.Ordinal);
        Assert.Contains("of which 60 ms by endpoint 2.", line.Text, StringComparison.Ordinal);
    }

    [Fact]
    public void What_blocks_different_reactors_does_not_add_up()
    {
        Endpoint[] endpoints = Endpoints(10);
        PassSeconds(60, endpoints, static _ => 9, static index => index);
        Assert.DoesNotContain(endpoints, IsOff);
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

            _time.AdvanceMs(BlockingPolicy.WindowMs);
        }

        Block(null, 1);
        Assert.DoesNotContain(endpoints, IsOff);
    }

    [Fact]
    public void What_runs_before_an_endpoint_counts_and_does_not_have_all_requests_leave_for_others()
    {
        Endpoint[] endpoints = Endpoints(2);
        for (int tenth = 0; tenth < 30; tenth++)
        {
            Block(null, 9);
            PassTenth(endpoints, static _ => 1, static _ => 0);
        }

        Assert.All(endpoints, endpoint => Assert.True(IsOff(endpoint)));
        Assert.False(_records.WithoutEndpoint.IsOff);
    }

    [Fact]
    public void An_interval_that_ended_long_ago_says_nothing()
    {
        Endpoint[] endpoints = Endpoints(10);
        for (int i = 0; i < 20; i++)
        {
            foreach (Endpoint endpoint in endpoints)
            {
                Block(endpoint, 20);
            }

            _time.AdvanceMs(2 * BlockingPolicy.WindowMs);
        }

        Assert.DoesNotContain(endpoints, IsOff);
    }

    [Fact]
    public void Who_left_with_others_comes_back_once_it_blocks_for_less_than_half_of_what_it_did()
    {
        Endpoint[] endpoints = Endpoints(25);
        PassSeconds(3, endpoints, static _ => 4);
        Assert.Equal(2, endpoints.Count(endpoint => !IsOff(endpoint)));

        BlockingPolicy policy = _records.Of(endpoints.First(IsOff));
        for (int second = 0; second < 10_000; second++)
        {
            _time.AdvanceMs(1000);
            Assert.False(RunOff(policy, 20_000));
        }

        _time.AdvanceMs(BlockingPolicy.FirstCalmMs - 1);
        Assert.False(RunOff(policy, 19_000));
        _time.AdvanceMs(1);
        Assert.True(RunOff(policy, 0));
    }

    private static Endpoint[] Endpoints(int count) =>
        [.. Enumerable.Range(0, count).Select(static i => new Endpoint(requestDelegate: null, metadata: null, $"endpoint {i}"))];

    private bool RunOff(BlockingPolicy policy, long blockedMicroseconds)
    {
        policy.NoteBlockedOffReactor(blockedMicroseconds, _records.NowMs);
        return policy.ReturnIfCalm(_records.NowMs);
    }

    private bool IsOff(Endpoint endpoint) => _records.Of(endpoint).IsOff;

    private void PassSeconds(int seconds, Endpoint[] endpoints, Func<int, int> blockedMs, Func<int, int>? reactor = null)
    {
        for (int tenth = 0; tenth < 10 * seconds; tenth++)
        {
            PassTenth(endpoints, blockedMs, reactor ?? (static _ => 0));
        }
    }

    /// <summary>A tenth of a second, in which each endpoint whose requests run on reactors blocks one in one callback.</summary>
    private void PassTenth(Endpoint[] endpoints, Func<int, int> blockedMs, Func<int, int> reactor)
    {
        for (int i = 0; i < endpoints.Length; i++)
        {
            if (!IsOff(endpoints[i]))
            {
                Block(endpoints[i], blockedMs(i), reactor(i));
            }
        }

        _time.AdvanceMs(100);
    }

    private void Block(Endpoint? endpoint, int blockedMs, int reactor = 0) =>
        _records.NoteBlocked(reactor, endpoint, endpoint?.DisplayName ?? "GET /", isNewCallback: true, blockedMs);
}
