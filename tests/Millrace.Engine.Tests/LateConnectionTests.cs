using System.Net;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests;

/// <summary>Connections that are accepted while the reactor stops. (Found by the simulator.)</summary>
public class LateConnectionTests
{
    [Fact]
    public async Task A_connection_that_comes_after_the_drain_deadline_is_reset()
    {
        // Ended by the test itself, which is about the end.
        Script script = await Script.StartAsync();
        var handlerMayReturn = new TaskCompletionSource();
        Submission receive = await script.ConnectAsync(socket: 5, _ => handlerMayReturn.Task);
        Task stop = script.Reactor.StopAsync(TimeSpan.Zero);
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.Kernel.ExpectAsync("close");

        // Nothing would end this one, and the reactor would stop with its memory in use.
        await script.Reactor.AskAsync(() =>
        {
            script.Reactor.Admission.Acquire(socket: 6, new(new IPEndPoint(IPAddress.Loopback, 1), _ => handlerMayReturn.Task, null));
            return true;
        });

        Assert.Equal(6, (await script.Kernel.ExpectAsync("reset")).Socket);
        Assert.Equal(6, (await script.Kernel.ExpectAsync("close")).Socket);
        handlerMayReturn.SetResult();
        await stop.Within();
        Assert.Equal((0, 0), (script.Reactor.Connections.Count, script.Reactor.Pools.Lent));
    }
}
