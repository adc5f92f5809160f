namespace Millrace.Interop.Tests;

public class LogRateLimiterTests
{
    [Fact]
    public void A_line_is_admitted_at_once_and_the_next_when_the_pause_is_over()
    {
        var pace = new LogRateLimiter(pauseMs: 100);

        Assert.True(pace.Admits(1_000));
        Assert.False(pace.Admits(1_099));
        Assert.True(pace.Admits(1_100));
        Assert.False(pace.Admits(1_199));
    }

    [Fact]
    public void Of_all_threads_that_ask_at_once_one_is_admitted()
    {
        var pace = new LogRateLimiter();
        for (int nowMs = 0; nowMs < 1_000_000; nowMs += 10_000)
        {
            int admitted = 0;
            Parallel.For(0, 16, _ => Interlocked.Add(ref admitted, pace.Admits(nowMs) ? 1 : 0));
            Assert.Equal(1, admitted);
        }
    }

    [Fact]
    public void A_burst_is_admitted_and_the_next_line_counts_those_that_were_not()
    {
        var pace = new LogRateLimiter(pauseMs: 100, burst: 3);

        Assert.Equal([(true, 0L), (true, 0L), (true, 0L)], Enumerable.Range(0, 3).Select(i => Ask(pace, i)));
        Assert.All(Enumerable.Range(10, 50), nowMs => Assert.False(pace.Admits(nowMs)));
        Assert.Equal((true, 50L), Ask(pace, 100));
        Assert.Equal((true, 0L), Ask(pace, 101));
    }

    private static (bool IsAdmitted, long Untold) Ask(LogRateLimiter pace, long nowMs) => (pace.Admits(nowMs, out long untold), untold);
}
