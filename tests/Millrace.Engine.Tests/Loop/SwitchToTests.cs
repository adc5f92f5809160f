using System.Diagnostics;
using Millrace.Engine.Loop;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Loop;

/// <summary>Coming home to a reactor that has ended, and leaving a turn to the others.</summary>
public class SwitchToTests : EngineTest
{
    [Fact]
    public async Task Who_comes_home_to_a_reactor_that_has_ended_is_told()
    {
        ReactorGroup group = await StartAsync();
        Reactor reactor = group.Reactors[0];
        await group.StopAsync(TimeSpan.Zero).Within();
        Assert.True(reactor.HasEnded);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => ComeHomeAsync(reactor).Within());
    }

    [Fact]
    public async Task A_result_is_taken_in_the_next_iteration_however_many_have_yielded()
    {
        Reactor reactor = (await StartAsync()).Reactors[0];
        var taken = new TaskCompletionSource<long>();
        reactor.PostContinuation(
            _ =>
            {
                for (int i = 0; i < 200; i++)
                {
                    _ = YieldAsync(reactor, times: 20);
                }

                long before = reactor.Counters.Iterations;
                reactor.Loop.PostponeResult(() => taken.SetResult(reactor.Counters.Iterations - before));
            },
            null);

        Assert.Equal(1, await taken.Task.Within());
    }

    [Fact]
    public async Task Many_who_come_home_while_it_ends_all_hear_something()
    {
        for (int round = 0; round < 20; round++)
        {
            ReactorGroup group = await StartAsync();
            Reactor reactor = group.Reactors[0];
            int home = 0;
            int reported = 0;
            Task[] comers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
            {
                for (int i = 0; i < 200; i++)
                {
                    try
                    {
                        await ComeHomeAsync(reactor);
                        Interlocked.Increment(ref home);
                    }
                    catch (ObjectDisposedException)
                    {
                        Interlocked.Increment(ref reported);
                    }

                    await Task.Yield();
                }
            }))];
            await Task.WhenAll([.. comers, group.StopAsync(TimeSpan.Zero)]).Within();
            Assert.Equal(800, home + reported);
        }
    }

    [Fact]
    public async Task A_continuation_goes_to_the_pool_when_its_reactor_has_ended()
    {
        ReactorGroup group = await StartAsync();
        var home = new TaskCompletionSource<Reactor?>();
        Reactor.PostContinuation(_ => home.SetResult(Reactor.Current), null);
        Assert.Same(Reactor, await home.Task.Within());
        await group.StopAsync(TimeSpan.Zero).Within();
        var late = new TaskCompletionSource<bool>();
        group.Reactors[0].PostContinuation(_ => late.SetResult(Thread.CurrentThread.IsThreadPoolThread), null);
        Assert.True(await late.Task.Within());
    }

    [Fact]
    public void A_closed_mailbox_sends_continuations_to_the_pool_and_gives_away_the_rest()
    {
        var mailbox = new Mailbox(static () => { });
        using var ran = new CountdownEvent(2);
        var given = new List<object?>();
        mailbox.PostContinuation(_ => ran.Signal(), 1);
        mailbox.Post(static _ => Assert.Fail("It ran."), 2);
        mailbox.Close((_, state) => given.Add(state));
        mailbox.PostContinuation(_ => ran.Signal(), 3);
        Assert.Equal([2], given);
        Assert.True(ran.Wait(Patience));
    }

    [Fact]
    public void A_closed_mailbox_gives_every_post_away_once()
    {
        var mailbox = new Mailbox(static () => { });
        var given = new List<object?>();
        mailbox.Post(static _ => Assert.Fail("It ran."), 1);
        mailbox.Close((_, state) => given.Add(state));
        mailbox.Post(static _ => Assert.Fail("It ran."), 2);
        Assert.True(mailbox.IsClosed);
        Assert.Equal([1, 2], given);
    }

    [Fact]
    public async Task A_handler_that_leaves_the_turn_lets_others_in_between()
    {
        const int Rounds = 1_000;
        int busyRounds = 0;
        int servedAt = -1;
        Listener listener = await ServeAsync(async connection =>
        {
            await connection.ReadAsync();
            if (connection.Input[0] == (byte)'b')
            {
                connection.Write("b"u8);
                connection.Flush();
                while (servedAt < 0 && busyRounds < Rounds * Rounds)
                {
                    busyRounds++;
                    await connection.Reactor.Yield();
                }
            }
            else
            {
                servedAt = busyRounds;
            }
        });
        Client busy = await ConnectAsync(listener);
        await busy.SendAsync("b");
        await busy.ReceiveAsync(1);
        Client other = await ConnectAsync(listener);
        await other.SendAsync("o");
        Assert.Empty(await other.ReceiveToEndAsync());
        Assert.Empty(await busy.ReceiveToEndAsync());
        Assert.InRange(servedAt, 1, (Rounds * Rounds) - 1);
    }

    private static async Task ComeHomeAsync(Reactor reactor)
    {
        await reactor.SwitchTo();
        Assert.True(reactor.IsReactorThread);
    }

    /// <summary>Works for 50 us between yields, so that 200 need ten iterations.</summary>
    private static async Task YieldAsync(Reactor reactor, int times)
    {
        for (int i = 0; i < times; i++)
        {
            await reactor.Yield();
            long began = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(began).TotalMicroseconds < 50)
            {
                Thread.SpinWait(10);
            }
        }
    }
}
