using Millrace.Engine.Loop;

namespace Millrace.Engine.Tests.Loop;

/// <summary>The wheel against a table of due times: never early, at most one tick late, each once.</summary>
public class TimerWheelTests
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
        var wheel = new TimerWheel(now);
        var due = new Dictionary<int, long>();
        var expired = new List<int>();
        for (int round = 0; round < 20_000; round++)
        {
            int id = random.Next(Ids);
            switch (random.Next(4))
            {
                case 0:
                    wheel.Cancel(id);
                    due.Remove(id);
                    break;
                case 1:
                    long wait = wheel.WaitMs(now);
                    Assert.Equal(due.Count == 0, wait < 0);
                    now += random.Next(2) == 0 && wait > 0 ? wait : random.Next(stepMs);
                    Advance(wheel, now, due, expired, random, reachMs);
                    break;
                default:
                    due[id] = now + random.Next(reachMs);
                    wheel.Schedule(id, due[id]);
                    break;
            }

            Assert.Equal(due.Count, wheel.Count);
        }

        for (int iteration = 0; wheel.Count > 0; iteration++)
        {
            Assert.True(iteration < 100_000, "The wheel asks to be advanced without end.");
            now += wheel.WaitMs(now);
            Advance(wheel, now, due, expired, null, 0);
        }

        Assert.Empty(due);
    }

    [Fact]
    public void A_time_behind_a_jump_of_the_clock_is_not_met_late()
    {
        var wheel = new TimerWheel(0);
        var expired = new List<int>();
        wheel.Schedule(1, 300_000);
        wheel.Advance(299_000, expired);
        Assert.Empty(expired);
        wheel.Advance(300_000 + TimerWheel.TickMs, expired);
        Assert.Equal([1], expired);
    }

    [Fact]
    public void Nothing_pending_waits_without_bound_and_a_due_time_not_at_all()
    {
        var wheel = new TimerWheel(1_000);
        Assert.Equal(-1, wheel.WaitMs(1_000));
        wheel.Schedule(0, 900);
        Assert.InRange(wheel.WaitMs(1_000), 0, TimerWheel.TickMs);
        wheel.Cancel(0);
        wheel.Cancel(0);
        wheel.Cancel(1_000_000);
        Assert.Equal(-1, wheel.WaitMs(1_000));
    }

    private static void Advance(TimerWheel wheel, long now, Dictionary<int, long> due, List<int> expired, Random? random, int reachMs)
    {
        expired.Clear();
        wheel.Advance(now, expired);
        Assert.Equal(expired.Count, expired.Distinct().Count());
        foreach (int id in expired)
        {
            Assert.True(due.Remove(id, out long dueMs), $"{id} expired and was not pending.");
            Assert.True(dueMs <= now, $"{id} expired {dueMs - now} ms early.");
        }

        foreach ((int id, long dueMs) in due)
        {
            Assert.True(dueMs > now - TimerWheel.TickMs, $"{id} is {now - dueMs} ms late.");
        }

        // As handlers do: set again from within their expiry.
        foreach (int id in expired.Where(_ => random?.Next(3) == 0).ToArray())
        {
            due[id] = now + random!.Next(reachMs);
            wheel.Schedule(id, due[id]);
        }
    }
}
