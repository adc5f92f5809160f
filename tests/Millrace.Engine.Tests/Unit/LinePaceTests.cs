namespace Millrace.Engine.Tests.Unit;

public class LinePaceTests
{
    [Fact]
    public void A_line_is_admitted_at_once_and_the_next_when_the_pause_is_over()
    {
        var pace = new LinePace(pauseMs: 100);

        Assert.True(pace.Admits(1_000));
        Assert.False(pace.Admits(1_099));
        Assert.True(pace.Admits(1_100));
        Assert.False(pace.Admits(1_199));
    }

    [Fact]
    public void Of_all_threads_that_ask_at_once_one_is_admitted()
    {
        var pace = new LinePace();
        for (int nowMs = 0; nowMs < 1_000_000; nowMs += 10_000)
        {
            int admitted = 0;
            Parallel.For(0, 16, _ => Interlocked.Add(ref admitted, pace.Admits(nowMs) ? 1 : 0));
            Assert.Equal(1, admitted);
        }
    }
}
