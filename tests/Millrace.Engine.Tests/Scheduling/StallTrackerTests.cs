using System.Text;
using Millrace.Engine.Watching;

namespace Millrace.Engine.Tests.Scheduling;

/// <summary>What looks at a pulse say, by a clock of their own.</summary>
public class StallTrackerTests
{
    private readonly StallTracker _tracker;
    private long _nowMs = 1_000;
    private ThreadSight _thread;

    public StallTrackerTests() => _tracker = new StallTracker(() => _thread);

    [Fact]
    public void A_callback_counts_at_10_ms_and_holds_up_at_100()
    {
        StallStep[] steps = [.. Enumerable.Range(0, 23).Select(_ => Look(beats: 2))];

        Assert.Equal(2, Array.IndexOf(steps, StallStep.Stalled));
        Assert.Equal(20, Array.IndexOf(steps, StallStep.HeldUp));
        Assert.Single(steps, StallStep.Stalled);
        Assert.Single(steps, StallStep.HeldUp);
        Assert.Equal([StallStep.StillHeldUp, StallStep.StillHeldUp], steps[21..]);
        Assert.Equal(StallStep.Released, Look(beats: 4));
        Assert.Equal(23 * StallTracker.PeriodMs, _tracker.DurationMs);
        Assert.Equal(StallStep.None, Look(beats: 6));
    }

    [Fact]
    public void One_that_wants_a_processor_and_has_none_is_not_in_a_stall()
    {
        _thread = new ThreadSight(IsRunnable: true, RanMs: 50);
        for (int i = 0; i < 1_000; i++)
        {
            Assert.Equal(StallStep.None, Look(beats: 2));
        }
    }

    [Fact]
    public void One_that_computes_is_in_a_stall_when_it_has_computed_for_so_long()
    {
        var steps = new List<StallStep>();
        for (int i = 0; i < 60; i++)
        {
            // It has every second look's processor, told in steps of 10 ms as the kernel does.
            _thread = new ThreadSight(IsRunnable: true, RanMs: i / 4 * 10);
            steps.Add(Look(beats: 2));
        }

        Assert.Equal(40, steps.IndexOf(StallStep.HeldUp));
    }

    [Theory]
    [InlineData("12 (millrace-0) R 1 12 12 0 -1 4194368 21 0 0 0 31 12 0 0 20 0 9 0", true, 430)]
    [InlineData("12 (a) S (b) S 1 12 12 0 -1 4194368 21 0 0 0 7 0 0 0 20 0 9 0", false, 70)]
    [InlineData("12 (cut", false, 0)]
    [InlineData("", false, 0)]
    public void What_the_kernel_says_of_a_thread_is_read(string stat, bool isRunnable, long ranMs) =>
        Assert.Equal(new ThreadSight(isRunnable, ranMs), WatchedThread.Parse(Encoding.ASCII.GetBytes(stat)));

    [Fact]
    public void One_that_gets_on_or_rests_is_never_in_a_stall()
    {
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal(StallStep.None, Look(beats: 2 + (2 * i)));
        }

        for (int i = 0; i < 100; i++)
        {
            Assert.Equal(StallStep.None, Look(beats: 1_001));
            Assert.Equal(i > 0, _tracker.IsQuiet);
        }
    }

    [Fact]
    public void A_process_that_was_stopped_for_an_hour_has_not_stalled()
    {
        Look(beats: 2);
        _nowMs += 3_600_000;
        Assert.Equal(StallStep.None, Look(beats: 2));
    }

    [Fact]
    public void Looks_in_quick_succession_do_not_add_up()
    {
        Look(beats: 2);
        for (int i = 0; i < 1_000; i++)
        {
            Assert.Equal(StallStep.None, _tracker.Look(2, _nowMs));
        }
    }

    [Fact]
    public void A_pulse_is_at_rest_between_rest_and_rise_whatever_beats()
    {
        var pulse = new Pulse();
        Assert.True(Pulse.IsAtRest(pulse.Beats));
        long before = pulse.Beats;
        for (int turn = 0; turn < 3; turn++)
        {
            pulse.Rise();
            Assert.False(Pulse.IsAtRest(pulse.Beats));
            pulse.Beat();
            Assert.False(Pulse.IsAtRest(pulse.Beats));
            pulse.Rest();
            Assert.True(Pulse.IsAtRest(pulse.Beats));
            Assert.True(pulse.Beats > before);
            before = pulse.Beats;
        }
    }

    [Fact]
    public async Task The_watch_dozes_until_a_reactor_rises_and_not_where_one_has()
    {
        using var bell = new WatchBell();
        bell.Doze(static () => false);

        using var looked = new ManualResetEventSlim();
        Task doze = Task.Factory.StartNew(
            () => bell.Doze(() =>
            {
                looked.Set();
                return true;
            }),
            TestContext.Current.CancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
        Assert.True(looked.Wait(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        Assert.False(doze.IsCompleted);
        bell.Ring();
        await doze.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    private StallStep Look(long beats)
    {
        _nowMs += StallTracker.PeriodMs;
        return _tracker.Look(beats, _nowMs);
    }
}
