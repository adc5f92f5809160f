using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Unit.Kit;

namespace Millrace.Engine.Tests.Unit;

public class TimerWheelTests
{
    private const long IterationMs = 1024 * TimerWheel.TickMs;

    [Fact]
    public void Whatever_happens_times_are_met_not_early_and_at_most_a_tick_late() => Seeds.ForEach(150, random =>
    {
        var watched = new WatchedWheel(nowMs: random.NextInt64(0, 1L << random.Next(1, 45)));
        for (int step = 0; step < 400; step++)
        {
            switch (random.Next(8))
            {
                case 0 or 1 or 2:
                    watched.Schedule(random.NextSize(300), random.Next(4) == 0 ? -random.NextSize(10_000) : random.NextSize(1_000_000));
                    break;
                case 3:
                    watched.Cancel(random.NextSize(400));
                    break;
                case 4:
                    // Time goes by and nobody looks, as while a handler runs or nothing is pending.
                    watched.Pass(random.NextSize(200_000));
                    break;
                case 5:
                    watched.Pass(random.NextSize(200_000));
                    watched.Advance();
                    break;
                default:
                    watched.PassUntilWoken();
                    watched.Advance();
                    break;
            }
        }

        watched.RunEmpty();
    });

    [Theory]
    [InlineData(0)]
    [InlineData(500)]
    [InlineData(1021)]
    [InlineData(1022)]
    [InlineData(1023)]
    public void A_time_set_after_a_long_idle_is_met(int tickOfIteration)
    {
        // As a reactor does it: nothing pending for an hour, a connection comes, its deadline is 5 s away.
        long idleMs = (56 * IterationMs) + (tickOfIteration * TimerWheel.TickMs);
        var watched = new WatchedWheel(nowMs: 0);
        watched.Pass(idleMs);
        watched.Schedule(id: 0, fromNowMs: 5_000);

        watched.RunEmpty();

        Assert.InRange(watched.NowMs, idleMs + 5_000, idleMs + 5_000 + TimerWheel.TickMs);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(500)]
    [InlineData(1021)]
    [InlineData(1022)]
    [InlineData(1023)]
    public void A_far_time_is_met_when_the_clock_jumps_to_shortly_before_it(int tickOfIteration)
    {
        // A process that was stopped for five minutes, as by a debugger or a paused virtual machine.
        long dueMs = (5 * IterationMs) + (tickOfIteration * TimerWheel.TickMs);
        var watched = new WatchedWheel(nowMs: 0);
        watched.Schedule(id: 0, dueMs);
        watched.Pass(dueMs - 640);
        watched.Advance();

        watched.RunEmpty();

        Assert.InRange(watched.NowMs, dueMs, dueMs + TimerWheel.TickMs);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(63)]
    [InlineData(64)]
    [InlineData(65)]
    [InlineData(IterationMs - 65)]
    [InlineData(IterationMs - 1)]
    [InlineData(IterationMs)]
    [InlineData(IterationMs + 1)]
    [InlineData((10 * IterationMs) + 17)]
    public void A_time_is_met_by_who_waits_as_told(long fromNowMs)
    {
        var watched = new WatchedWheel(nowMs: 12_345);
        watched.Schedule(id: 3, fromNowMs);

        int waits = watched.RunEmpty();

        Assert.InRange(watched.NowMs, 12_345 + fromNowMs, 12_345 + fromNowMs + TimerWheel.TickMs);
        Assert.InRange(waits, 1, 2 + (fromNowMs / (IterationMs - (2 * TimerWheel.TickMs))));
    }

    [Fact]
    public void The_farthest_time_there_is_waits_a_turn_at_a_time()
    {
        var watched = new WatchedWheel(nowMs: 1_000);
        watched.Schedule(id: 0, (long)TimeSpan.MaxValue.TotalMilliseconds);
        for (int i = 0; i < 100; i++)
        {
            watched.PassUntilWoken();
            watched.Advance();
        }

        Assert.InRange(watched.NowMs, 99 * (IterationMs - (2 * TimerWheel.TickMs)), 100 * IterationMs);
    }

    [Fact]
    public void Nothing_pending_is_no_wait()
    {
        var wheel = new TimerWheel(nowMs: 77);
        Assert.Equal(-1, wheel.WaitMs(77));
        wheel.Cancel(5);
        wheel.Schedule(5, 100);
        Assert.NotEqual(-1, wheel.WaitMs(77));
        wheel.Cancel(5);
        wheel.Cancel(5);
        Assert.Equal(-1, wheel.WaitMs(77));
        Assert.Equal(0, wheel.Count);
    }

    [Fact]
    public void A_clock_that_stands_still_or_steps_back_meets_nothing_twice()
    {
        var wheel = new TimerWheel(nowMs: 10_000);
        List<int> expired = [];
        wheel.Schedule(1, 10_050);
        wheel.Schedule(2, 20_000);
        wheel.Advance(10_200, expired);
        wheel.Advance(10_200, expired);
        wheel.Advance(9_000, expired);
        Assert.Equal([1], expired);
        wheel.Advance(20_100, expired);
        Assert.Equal([1, 2], expired);
    }

    /// <summary>A wheel and the brute-force model of it, compared at every step.</summary>
    private sealed class WatchedWheel(long nowMs)
    {
        private readonly TimerWheel _wheel = new(nowMs);
        private readonly Dictionary<int, (long DueMs, long SetMs)> _pending = [];

        public long NowMs { get; private set; } = nowMs;

        public void Schedule(int id, long fromNowMs)
        {
            long dueMs = Math.Max(0, NowMs + fromNowMs);
            _wheel.Schedule(id, dueMs);
            _pending[id] = (dueMs, NowMs);
            Check();
        }

        public void Cancel(int id)
        {
            _wheel.Cancel(id);
            _pending.Remove(id);
            Check();
        }

        public void Pass(long ms) => NowMs += ms;

        public void PassUntilWoken() => NowMs += Math.Max(0, _wheel.WaitMs(NowMs));

        public void Advance()
        {
            List<int> expired = [];
            _wheel.Advance(NowMs, expired);
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
            Assert.True(_pending.Count == 0 || _wheel.WaitMs(NowMs) > 0);
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
        private static long LatestMs((long DueMs, long SetMs) time) => Math.Max(time.DueMs, time.SetMs) + TimerWheel.TickMs;

        private void Check()
        {
            Assert.Equal(_pending.Count, _wheel.Count);
            long waitMs = _wheel.WaitMs(NowMs);
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
