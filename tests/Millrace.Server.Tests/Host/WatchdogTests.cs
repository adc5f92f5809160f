using Millrace.Engine;
using Millrace.Server.Host;

namespace Millrace.Server.Tests.Host;

public class WatchdogTests
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(50);

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_reactor_that_hangs_ends_the_signs_of_life_until_it_turns_again()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 2, WatchForStalls = false });
        using var sign = new SemaphoreSlim(0);
        using var mayIteration = new ManualResetEventSlim();
        await using ServiceWatchdog watchdog = ServiceWatchdog.Start(group.Reactors, Period, () => sign.Release());
        Assert.True(await sign.WaitAsync(Patience));

        await HangAsync(group.Reactors[1], mayIteration);
        while (await sign.WaitAsync(0))
        {
            // Those of before. One more may be on its way, as its round was over by then.
        }

        int late = 0;
        while (await sign.WaitAsync(Period * 10))
        {
            late++;
            Assert.True(late <= 1, "A reactor hangs, and signs of life go on.");
        }

        mayIteration.Set();
        Assert.True(await sign.WaitAsync(Patience));
        Assert.True(await sign.WaitAsync(Patience));
    }

    [Fact]
    public async Task While_reactors_are_ended_one_by_one_the_signs_go_on()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 2, WatchForStalls = false });
        using var sign = new SemaphoreSlim(0);
        await using ServiceWatchdog watchdog = ServiceWatchdog.Start(group.Reactors, Period, () => sign.Release());
        watchdog.Drain();
        await group.StopAsync(TimeSpan.Zero);
        for (int i = 0; i < 5; i++)
        {
            Assert.True(await sign.WaitAsync(Patience));
        }
    }

    /// <summary>Returns when it hangs.</summary>
    private static async Task HangAsync(Reactor reactor, ManualResetEventSlim mayIteration)
    {
        var hangs = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(
            _ =>
            {
                hangs.SetResult();
                mayIteration.Wait(Patience);
            },
            null);
        await hangs.Task.WaitAsync(Patience);
    }
}
