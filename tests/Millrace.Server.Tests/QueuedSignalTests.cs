using System.Runtime.InteropServices;
using Millrace.Server.Host;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

public class QueuedSignalTests
{
    /// <summary>SIGUSR2: nobody else's here.</summary>
    private const PosixSignal User2 = (PosixSignal)12;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public void Those_that_come_while_another_waits_are_one_with_it_and_at_the_end_none_begins()
    {
        using var signal = new QueuedSignal(User2);
        using var begun = new SemaphoreSlim(0);
        using var gate = new SemaphoreSlim(0);
        int times = 0;
        IDisposable attachment = signal.Attach(() =>
        {
            Interlocked.Increment(ref times);
            begun.Release();
            gate.Wait(Patience);
        });
        Send();
        Assert.True(begun.Wait(Patience));
        for (int i = 0; i < 10; i++)
        {
            Send();
            Thread.Sleep(5);
        }

        gate.Release();
        Assert.True(begun.Wait(Patience));
        Assert.Equal(2, times);

        Send();
        Thread.Sleep(50);
        var end = new Thread(attachment.Dispose);
        end.Start();
        Assert.True(SpinWait.SpinUntil(() => end.ThreadState.HasFlag(ThreadState.WaitSleepJoin), Patience));
        gate.Release();
        Assert.True(end.Join(Patience));
        Assert.Equal(2, times);
    }

    private static void Send() => Assert.Equal(0, ServerProcess.Send(Environment.ProcessId, User2));
}
