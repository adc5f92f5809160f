using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests;

/// <summary>
/// The moment that cancelled operations get at the end, on a machine that was suspended in it. The tests end their reactors themselves.
/// </summary>
public class SuspendedGraceTests
{
    [Fact]
    public async Task A_machine_that_sleeps_through_the_grace_gives_everything_back_all_the_same()
    {
        Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, Handlers.EchoAsync);
        Task stop = script.Reactor.StopAsync(TimeSpan.Zero);
        await script.Kernel.ExpectAsync("cancel");

        script.Kernel.AdvanceClock(200_000);
        await script.Reactor.AskAsync(() => 0);
        script.Kernel.Complete(receive, -Errno.ECANCELED);

        await script.Kernel.ExpectAfterCancelsAsync("reset");
        await script.Kernel.ExpectAsync("close");
        await stop.Within();
        Assert.Equal(0, script.Log.Count(102));
    }

    [Fact]
    public async Task What_never_completes_is_given_up_however_often_the_machine_sleeps()
    {
        Script script = await Script.StartAsync();
        await script.ConnectAsync(7, Handlers.EchoAsync);
        Task stop = script.Reactor.StopAsync(TimeSpan.Zero);
        await script.Kernel.ExpectAsync("cancel");

        while (!stop.IsCompleted)
        {
            script.Kernel.AdvanceClock(200_000);
            await Task.WhenAny(stop, Task.Delay(10));
        }

        Assert.Equal(1, script.Log.Count(102));
    }
}
