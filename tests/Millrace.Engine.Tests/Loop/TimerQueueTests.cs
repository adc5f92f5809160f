using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Unit;

namespace Millrace.Engine.Tests.Loop;

/// <summary>The timers, compared with a table of due times: never early, at most one tick late, each once.</summary>
public class TimerQueueTests
{
    private const int Ids = 200;

    [Theory]
    [InlineData(1, 50, 1_000)]
    [InlineData(2, 5_000, 60_000)]
    [InlineData(3, 500, 1_000_000)]
    [InlineData(4, 300_000, 1_000_000)]
    [InlineData(5, 66_000, 140_000)]
    public void Times_are_met_as_a_table_of_them_says(int seed, int stepMs, int reachMs)
    {
        var random = new Random(seed);
        long now = random.Next(1_000_000);
        var timers = new TimerQueue(now);
        var due = new Dictionary<int, long>();
        var expired = new List<int>();
        for (int round = 0; round < 20_000; round++)
        {
            int id = random.Next(Ids);
            switch (random.Next(4))
            {
                case 0:
                    timers.Cancel(id);
                    due.Remove(id);
                    break;
                case 1:
                    long wait = timers.WaitMs(now);
                    Assert.Equal(due.Count == 0, wait < 0);
                    now += random.Next(2) == 0 && wait > 0 ? wait : random.Next(stepMs);
                    Advance(timers, now, due, expired, random, reachMs);
                    break;
                default:
                    due[id] = now + random.Next(reachMs);
                    timers.Schedule(id, due[id]);
                    break;
            }

            Assert.Equal(due.Count, timers.Count);
        }

        for (int iteration = 0; timers.Count > 0; iteration++)
        {
            Assert.True(iteration < 100_000, "The timers ask to be advanced without end.");
            now += timers.WaitMs(now);
            Advance(timers, now, due, expired, null, 0);
        }

        Assert.Empty(due);
    }

    [Fact]
    public void A_time_behind_a_jump_of_the_clock_is_not_met_late()
    {
        var timers = new TimerQueue(0);
        var expired = new List<int>();
        timers.Schedule(1, 300_000);
        timers.Advance(299_000, expired);
        Assert.Empty(expired);
        timers.Advance(300_000 + TimerQueue.TickMs, expired);
        Assert.Equal([1], expired);
    }

    [Fact]
    public void Nothing_pending_waits_without_bound_and_a_due_time_not_at_all()
    {
        var timers = new TimerQueue(1_000);
        Assert.Equal(-1, timers.WaitMs(1_000));
        timers.Schedule(0, 900);
        Assert.InRange(timers.WaitMs(1_000), 0, TimerQueue.TickMs);
        timers.Cancel(0);
        timers.Cancel(0);
        timers.Cancel(1_000_000);
        Assert.Equal(-1, timers.WaitMs(1_000));
    }

    private static void Advance(TimerQueue timers, long now, Dictionary<int, long> due, List<int> expired, Random? random, int reachMs)
    {
        expired.Clear();
        timers.Advance(now, expired);
        Assert.Equal(expired.Count, expired.Distinct().Count());
        foreach (int id in expired)
        {
            Assert.True(due.Remove(id, out long dueMs), $"{id} expired and was not pending.");
            Assert.True(dueMs <= now, $"{id} expired {dueMs - now} ms early.");
        }

        foreach ((int id, long dueMs) in due)
        {
            Assert.True(dueMs > now - TimerQueue.TickMs, $"{id} is {now - dueMs} ms late.");
        }

        // As handlers do: set again from within their expiry.
        foreach (int id in expired.Where(_ => random?.Next(3) == 0).ToArray())
        {
            due[id] = now + random!.Next(reachMs);
            timers.Schedule(id, due[id]);
        }
    }
}
