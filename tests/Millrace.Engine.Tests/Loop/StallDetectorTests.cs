using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine.Diagnostics;

namespace Millrace.Engine.Tests.Loop;

/// <summary>What samples of a heartbeat show, by a scripted clock.</summary>
public class StallDetectorTests
{
    private readonly StallDetector _detector;
    private long _nowMs = 1_000;
    private ThreadSample _thread;

    public StallDetectorTests() => _detector = new StallDetector(() => _thread);

    [Fact]
    public void A_callback_counts_from_its_second_check_on_by_the_clock()
    {
        long[] seenMs = [.. Enumerable.Range(0, 23).Select(_ => Check(beats: 2))];

        Assert.Equal(Enumerable.Range(0, 23).Select(static i => (long)i * StallDetector.PeriodMs), seenMs);
        Assert.Equal(0, Check(beats: 4));
        Assert.Equal(23 * StallDetector.PeriodMs, _detector.DurationMs);
        Assert.Equal(0, Check(beats: 6));
    }

    [Fact]
    public void A_runnable_thread_without_a_processor_is_not_stalled()
    {
        _thread = new ThreadSample(IsRunnable: true, RanMs: 50);
        for (int i = 0; i < 1_000; i++)
        {
            Assert.InRange(Check(beats: 2), 0, StallDetector.PeriodMs);
        }
    }

    [Fact]
    public void A_computing_thread_is_stalled_by_its_processor_time()
    {
        var seenMs = new List<long>();
        for (int i = 0; i < 60; i++)
        {
            // It has a processor at every second sample, reported in steps of 10 ms as the kernel does.
            _thread = new ThreadSample(IsRunnable: true, RanMs: i / 4 * 10);
            seenMs.Add(Check(beats: 2));
        }

        Assert.Equal(40, seenMs.FindIndex(static seenMs => seenMs >= StallDetector.StallMs));
    }

    [Fact]
    public void Of_a_callback_that_computes_and_waits_only_the_wait_counts_as_blocked()
    {
        Check(beats: 2);
        for (int i = 0; i < 30; i++)
        {
            _thread = new ThreadSample(IsRunnable: i is < 10 or >= 20, RanMs: StallDetector.PeriodMs * i);
            Check(beats: 2);
        }

        Assert.Equal(10 * StallDetector.PeriodMs, _detector.BlockedMs);
        _thread = new ThreadSample(IsRunnable: false, RanMs: 30);
        for (int i = 0; i < 30; i++)
        {
            Check(beats: 2);
        }

        Assert.Equal(40 * StallDetector.PeriodMs, _detector.BlockedMs);
        Check(beats: 4);
        Assert.Equal(0, _detector.BlockedMs);
    }

    [Fact]
    public void Short_waits_add_up_whatever_moves_between_them()
    {
        long blockedMs = 0;
        for (int i = 0; i < 100; i++)
        {
            // Three of ten samples find it waiting, each in another callback.
            _thread = new ThreadSample(IsRunnable: i % 10 >= 3, RanMs: i);
            Assert.Equal(0, Check(beats: 2 + (2 * i)));
            blockedMs += _detector.BlockedSinceLastMs;
        }

        Assert.Equal(30 * StallDetector.PeriodMs, blockedMs);
    }

    [Fact]
    public void An_idle_or_unknown_thread_is_not_blocked()
    {
        _thread = new ThreadSample(IsRunnable: false, RanMs: 1);
        Check(beats: 1_001);
        Assert.Equal(0, _detector.BlockedSinceLastMs);
        _thread = default;
        Check(beats: 1_002);
        Assert.Equal(0, _detector.BlockedSinceLastMs);
        _thread = new ThreadSample(IsRunnable: false, RanMs: 1);
        Check(beats: 1_002);
        Assert.Equal(StallDetector.PeriodMs, _detector.BlockedSinceLastMs);
    }

    [Theory]
    [InlineData("12 (millrace-0) R 1 12 12 0 -1 4194368 21 0 0 0 31 12 0 0 20 0 9 0", true, 430)]
    [InlineData("12 (a) S (b) S 1 12 12 0 -1 4194368 21 0 0 0 7 0 0 0 20 0 9 0", false, 70)]
    [InlineData("12 (cut", false, 0)]
    [InlineData("", false, 0)]
    public void The_stat_file_of_a_thread_is_parsed(string stat, bool isRunnable, long ranMs) =>
        Assert.Equal(new ThreadSample(isRunnable, ranMs), ThreadInspector.Parse(Encoding.ASCII.GetBytes(stat)));

    [Fact]
    public void A_reactor_that_progresses_or_idles_is_never_stalled()
    {
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal(0, Check(beats: 2 + (2 * i)));
        }

        for (int i = 0; i < 100; i++)
        {
            Assert.Equal(0, Check(beats: 1_001));
            Assert.Equal(i > 0, _detector.IsQuiet);
        }
    }

    [Fact]
    public void A_process_that_was_stopped_for_an_hour_has_not_stalled()
    {
        Check(beats: 2);
        _nowMs += 3_600_000;
        Assert.Equal(StallDetector.PeriodMs, Check(beats: 2));
    }

    [Fact]
    public void Samples_in_quick_succession_do_not_add_up()
    {
        Check(beats: 2);
        for (int i = 0; i < 1_000; i++)
        {
            _detector.Sample(2, _nowMs);
            Assert.Equal(0, _detector.StalledMs);
        }
    }

    [Fact]
    public void A_heartbeat_is_waiting_between_the_begin_and_the_end_of_a_wait()
    {
        var heartbeat = new LoopHeartbeat();
        Assert.True(LoopHeartbeat.IsWaitingAt(heartbeat.Count));
        long before = heartbeat.Count;
        for (int iteration = 0; iteration < 3; iteration++)
        {
            heartbeat.EndWait();
            Assert.False(LoopHeartbeat.IsWaitingAt(heartbeat.Count));
            heartbeat.Beat();
            Assert.False(LoopHeartbeat.IsWaitingAt(heartbeat.Count));
            heartbeat.BeginWait();
            Assert.True(LoopHeartbeat.IsWaitingAt(heartbeat.Count));
            Assert.True(heartbeat.Count > before);
            before = heartbeat.Count;
        }
    }

    [Fact]
    public async Task The_watchdog_sleeps_until_a_reactor_becomes_active_and_not_if_one_is()
    {
        using var watchdog = new StallWatchdog(new EngineLog(NullLogger.Instance));
        watchdog.Sleep(static () => false);

        using var hasChecked = new ManualResetEventSlim();
        Task sleep = Task.Factory.StartNew(
            () => watchdog.Sleep(() =>
            {
                hasChecked.Set();
                return true;
            }),
            TestContext.Current.CancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
        Assert.True(hasChecked.Wait(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        Assert.False(sleep.IsCompleted);
        watchdog.Signal();
        await sleep.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    private long Check(long beats)
    {
        _nowMs += StallDetector.PeriodMs;
        _detector.Sample(beats, _nowMs);
        return _detector.StalledMs;
    }
}
