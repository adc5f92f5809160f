using System.Diagnostics;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Operations;

public class DelayOperationTests : EngineTest
{
    [Fact]
    public async Task Delays_end_in_the_order_of_their_times_on_the_reactor()
    {
        // By a clock that stands still while they begin: by the machine's, who begins later may well end later.
        await using Script script = await Script.StartAsync();
        Reactor reactor = script.Reactor;
        int[] times = [120, 5, 60, 61, 1, 4_500, 5, 30, 0];
        var ended = new List<int>();
        async Task WaitAsync(int ms)
        {
            await reactor.Delay(TimeSpan.FromMilliseconds(ms));
            Assert.True(reactor.IsReactorThread);
            ended.Add(ms);
        }

        Task all = reactor.RunAsync(() => Task.WhenAll(times.Select(WaitAsync)));
        await reactor.AskAsync(() => 0);
        while (!all.IsCompleted)
        {
            script.Kernel.AdvanceClock(1);
            await script.ConnectionsAsync();
        }

        await all;
        Assert.Equal(times.Order(), ended);
    }

    [Fact]
    public async Task Delays_of_one_time_end_in_the_order_of_their_beginnings()
    {
        await using Script script = await Script.StartAsync();
        Reactor reactor = script.Reactor;
        var ended = new List<int>();
        async Task WaitAsync(int number)
        {
            await reactor.Delay(TimeSpan.FromSeconds(1));
            ended.Add(number);
        }

        Task all = reactor.RunAsync(() => Task.WhenAll(Enumerable.Range(0, 100).Select(WaitAsync)));
        await reactor.AskAsync(() => 0);
        script.Kernel.AdvanceClock(990);
        await script.ConnectionsAsync();
        Assert.Empty(ended);
        script.Kernel.AdvanceClock(20);
        await all;
        Assert.Equal(Enumerable.Range(0, 100), ended);
    }

    [Fact]
    public async Task A_delay_is_not_shorter_than_it_was_to_be()
    {
        // The resolution of the clock, and that of the stopwatch it is compared with.
        const int ResolutionMs = 10;
        await StartAsync();
        var watch = new Stopwatch();
        foreach (int ms in (int[])[20, 50, 200])
        {
            await Reactor.RunAsync(async () =>
            {
                // Late in an iteration: what counts is when it was asked for.
                await Reactor.Yield();
                watch.Restart();
                await Reactor.Delay(TimeSpan.FromMilliseconds(ms));
                watch.Stop();
            });
            Assert.True(watch.ElapsedMilliseconds >= ms - ResolutionMs, $"{ms} ms were {watch.ElapsedMilliseconds}.");
        }
    }

    [Theory]
    [InlineData("another thread")]
    [InlineData("the reactor")]
    [InlineData("earlier")]
    public async Task A_delay_can_be_cancelled(string from)
    {
        await StartAsync();
        using var cancellation = new CancellationTokenSource();
        if (from == "earlier")
        {
            await cancellation.CancelAsync();
        }

        Task delay = Reactor.RunAsync(() => Reactor.Delay(Timeout.InfiniteTimeSpan, cancellation.Token).AsTask());
        await Reactor.AskAsync(() => 0);
        if (from == "the reactor")
        {
            Reactor.Post(_ => cancellation.Cancel(), null);
        }
        else
        {
            await cancellation.CancelAsync();
        }

        OperationCanceledException end = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => delay);
        Assert.Equal(cancellation.Token, end.CancellationToken);
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Operations.Count));
    }

    [Fact]
    public async Task A_late_cancellation_means_no_later_delay_of_the_same_object()
    {
        await StartAsync();
        using var cancellation = new CancellationTokenSource();
        Task later = Task.CompletedTask;
        await Reactor.RunAsync(async () =>
        {
            Task first = Reactor.Delay(TimeSpan.FromMilliseconds(1), cancellation.Token).AsTask();
            await Reactor.Delay(TimeSpan.FromMilliseconds(50));
            await first;
            // The object of the first one is in use again when its token is cancelled.
            later = Reactor.Delay(TimeSpan.FromMilliseconds(100)).AsTask();
            cancellation.Cancel();
        });
        await later.Within();
    }

    [Fact]
    public async Task Cancellations_that_race_with_the_end_do_no_harm()
    {
        await StartAsync();
        for (int round = 0; round < 300; round++)
        {
            using var cancellation = new CancellationTokenSource();
            Task delay = Reactor.RunAsync(() => Reactor.Delay(TimeSpan.FromMilliseconds(2), cancellation.Token).AsTask());
            cancellation.CancelAfter(2);
            Exception? end = await Record.ExceptionAsync(() => delay);
            Assert.True(end is null or OperationCanceledException, end?.ToString());
        }

        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Operations.Count));
    }

    [Fact]
    public async Task A_stop_ends_delays_and_nothing_begins_any_more()
    {
        await StartAsync();
        Exception? second = null;
        Task delays = Reactor.RunAsync(async () =>
        {
            try
            {
                await Reactor.Delay(TimeSpan.FromHours(1));
            }
            finally
            {
                second = await Record.ExceptionAsync(() => Reactor.Delay(TimeSpan.FromHours(1)).AsTask());
            }
        });
        await Reactor.AskAsync(() => 0);
        await Group.StopAsync(TimeSpan.FromHours(1)).Within();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => delays);
        Assert.IsType<OperationCanceledException>(second);
    }

    [Fact]
    public async Task A_handler_that_waits_is_let_go_when_the_time_for_finishing_is_over()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            await connection.ReadAsync();
            await connection.Reactor.Delay(Timeout.InfiniteTimeSpan);
        });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await Waiting.UntilAsync(() => Reactor.AskAsync(() => Reactor.Operations.Count - Reactor.Acceptors.Length).Result == 1, "the handler waits");
        await Group.StopAsync(TimeSpan.FromMilliseconds(20)).Within();
        await client.ExpectResetAsync();
        Assert.Equal(0, Log.Count(102));
    }

    [Fact]
    public async Task A_delay_on_another_thread_or_into_the_past_is_refused()
    {
        await StartAsync();
        Assert.Throws<InvalidOperationException>(() => Reactor.Delay(TimeSpan.Zero));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Reactor.RunAsync(() => Reactor.Delay(TimeSpan.FromMilliseconds(-2)).AsTask()));
    }

    [Fact]
    public async Task A_delay_that_is_asked_twice_for_its_end_refuses_and_harms_no_other()
    {
        await StartAsync();
        await Reactor.RunAsync(async () =>
        {
#pragma warning disable CA2012 // Used twice, as it must not be.
            ValueTask delay = Reactor.Delay(TimeSpan.FromMilliseconds(1));
            await delay;
            Assert.Throws<InvalidOperationException>(() => delay.GetAwaiter().GetResult());
            Task one = Reactor.Delay(TimeSpan.FromMilliseconds(1)).AsTask();
            Task other = Reactor.Delay(TimeSpan.FromMilliseconds(1)).AsTask();
            Assert.Throws<InvalidOperationException>(() => delay.GetAwaiter().GetResult());
#pragma warning restore CA2012
            await Task.WhenAll(one, other);
        });
    }
}
