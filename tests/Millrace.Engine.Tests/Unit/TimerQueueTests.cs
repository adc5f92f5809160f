using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Unit.Kit;

namespace Millrace.Engine.Tests.Unit;

public class TimerQueueTests
{
    private const long MinuteMs = 60_000;

    [Fact]
    public void Whatever_happens_times_are_met_not_early_and_at_most_a_tick_late() => Seeds.ForEach(150, random =>
    {
        var timers = new CheckedTimers(nowMs: random.NextInt64(0, 1L << random.Next(1, 45)));
        for (int step = 0; step < 400; step++)
        {
            switch (random.Next(8))
            {
                case 0 or 1 or 2:
                    timers.Schedule(random.NextSize(300), random.Next(4) == 0 ? -random.NextSize(10_000) : random.NextSize(1_000_000));
                    break;
                case 3:
                    timers.Cancel(random.NextSize(400));
                    break;
                case 4:
                    // Time goes by and nobody looks, as while a handler runs or nothing is pending.
                    timers.Pass(random.NextSize(200_000));
                    break;
                case 5:
                    timers.Pass(random.NextSize(200_000));
                    timers.Advance();
                    break;
                default:
                    timers.PassUntilWoken();
                    timers.Advance();
                    break;
            }
        }

        timers.RunEmpty();
    });

    [Theory]
    [InlineData(0)]
    [InlineData(500)]
    [InlineData(1021)]
    [InlineData(1022)]
    [InlineData(1023)]
    public void A_time_set_after_a_long_idle_is_met(int ticks)
    {
        // As a reactor does it: nothing pending for an hour, a connection comes, its deadline is 5 s away.
        long idleMs = (56 * MinuteMs) + (ticks * TimerQueue.TickMs);
        var timers = new CheckedTimers(nowMs: 0);
        timers.Pass(idleMs);
        timers.Schedule(id: 0, fromNowMs: 5_000);

        timers.RunEmpty();

        Assert.InRange(timers.NowMs, idleMs + 5_000, idleMs + 5_000 + TimerQueue.TickMs);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(500)]
    [InlineData(1021)]
    [InlineData(1022)]
    [InlineData(1023)]
    public void A_far_time_is_met_when_the_clock_jumps_to_shortly_before_it(int ticks)
    {
        // A process that was stopped for five minutes, as by a debugger or a paused virtual machine.
        long dueMs = (5 * MinuteMs) + (ticks * TimerQueue.TickMs);
        var timers = new CheckedTimers(nowMs: 0);
        timers.Schedule(id: 0, dueMs);
        timers.Pass(dueMs - 640);
        timers.Advance();

        timers.RunEmpty();

        Assert.InRange(timers.NowMs, dueMs, dueMs + TimerQueue.TickMs);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(63)]
    [InlineData(64)]
    [InlineData(65)]
    [InlineData(MinuteMs - 65)]
    [InlineData(MinuteMs - 1)]
    [InlineData(MinuteMs)]
    [InlineData(MinuteMs + 1)]
    [InlineData((10 * MinuteMs) + 17)]
    public void A_time_is_met_by_who_waits_as_told(long fromNowMs)
    {
        var timers = new CheckedTimers(nowMs: 12_345);
        timers.Schedule(id: 3, fromNowMs);

        int waits = timers.RunEmpty();

        Assert.InRange(timers.NowMs, 12_345 + fromNowMs, 12_345 + fromNowMs + TimerQueue.TickMs);
        Assert.Equal(1, waits);
    }

    [Fact]
    public void The_farthest_time_there_is_waits_as_long()
    {
        long farMs = (long)TimeSpan.MaxValue.TotalMilliseconds;
        var timers = new CheckedTimers(nowMs: 1_000);
        timers.Schedule(id: 0, farMs);

        Assert.Equal(1, timers.RunEmpty());

        Assert.InRange(timers.NowMs, farMs, farMs + 1_000 + TimerQueue.TickMs);
    }

    [Fact]
    public void Nothing_pending_is_no_wait()
    {
        var timers = new TimerQueue(nowMs: 77);
        Assert.Equal(-1, timers.WaitMs(77));
        timers.Cancel(5);
        timers.Schedule(5, 100);
        Assert.NotEqual(-1, timers.WaitMs(77));
        timers.Cancel(5);
        timers.Cancel(5);
        Assert.Equal(-1, timers.WaitMs(77));
        Assert.Equal(0, timers.Count);
    }

    [Fact]
    public void A_clock_that_stands_still_or_steps_back_meets_nothing_twice()
    {
        var timers = new TimerQueue(nowMs: 10_000);
        List<int> expired = [];
        timers.Schedule(1, 10_050);
        timers.Schedule(2, 20_000);
        timers.Advance(10_200, expired);
        timers.Advance(10_200, expired);
        timers.Advance(9_000, expired);
        Assert.Equal([1], expired);
        timers.Advance(20_100, expired);
        Assert.Equal([1, 2], expired);
    }

    /// <summary>Timers and the brute-force model of it, compared at every step.</summary>
    private sealed class CheckedTimers(long nowMs)
    {
        private readonly TimerQueue _timers = new(nowMs);
        private readonly Dictionary<int, (long DueMs, long SetMs)> _pending = [];

        public long NowMs { get; private set; } = nowMs;

        public void Schedule(int id, long fromNowMs)
        {
            long dueMs = Math.Max(0, NowMs + fromNowMs);
            _timers.Schedule(id, dueMs);
            _pending[id] = (dueMs, NowMs);
            Check();
        }

        public void Cancel(int id)
        {
            _timers.Cancel(id);
            _pending.Remove(id);
            Check();
        }

        public void Pass(long ms) => NowMs += ms;

        public void PassUntilWoken() => NowMs += Math.Max(0, _timers.WaitMs(NowMs));

        public void Advance()
        {
            List<int> expired = [];
            _timers.Advance(NowMs, expired);
            foreach (int id in expired)
            {
                Assert.True(_pending.Remove(id, out (long DueMs, long SetMs) time), $"{id} expired and was not pending");
                Assert.True(time.DueMs <= NowMs, $"{id} expired {time.DueMs - NowMs} ms early");
            }

            foreach ((int id, (long DueMs, long SetMs) time) in _pending)
            {
                Assert.True(LatestMs(time) > NowMs, $"{id} is {NowMs - time.DueMs} ms late");
            }

            Check();
            // What it says just after a look is never "at once": a reactor would spin.
            Assert.True(_pending.Count == 0 || _timers.WaitMs(NowMs) > 0);
        }

        /// <summary>Waits as told until nothing is pending; returns how often.</summary>
        public int RunEmpty()
        {
            int waits = 0;
            while (_pending.Count > 0)
            {
                PassUntilWoken();
                Advance();
                waits++;
                Assert.True(waits < 100_000);
            }

            return waits;
        }

        /// <summary>From here on it is late: a tick after it was due, or set, which may be the later.</summary>
        private static long LatestMs((long DueMs, long SetMs) time) => Math.Max(time.DueMs, time.SetMs) + TimerQueue.TickMs;

        private void Check()
        {
            Assert.Equal(_pending.Count, _timers.Count);
            long waitMs = _timers.WaitMs(NowMs);
            if (_pending.Count == 0)
            {
                Assert.Equal(-1, waitMs);
                return;
            }

            long latestMs = _pending.Values.Min(LatestMs);
            Assert.True(waitMs >= 0);
            Assert.True(waitMs == 0 || NowMs + waitMs <= latestMs, $"a wait of {waitMs} ms ends {NowMs + waitMs - latestMs} ms late");
        }
    }
}

internal static class TimerQueueExtensions
{
    /// <summary>Milliseconds until there is something to do; -1 when nothing is pending.</summary>
    public static long WaitMs(this TimerQueue timers, long nowMs) =>
        timers.NextDueMs == long.MaxValue ? -1 : Math.Max(0, timers.NextDueMs - nowMs);
}
