using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Cancels that find nothing (-ENOENT), or what they cannot interrupt (-EALREADY), while the operation goes on.</summary>
public class MissedCancelTests
{
    /// <summary>Times of operations are met so much late.</summary>
    private const int OperationTickMs = 4;

    /// <summary>EALREADY.</summary>
    private const int Already = 114;

    [Theory]
    [InlineData(-Errno.ENOENT)]
    [InlineData(-Already)]
    public async Task A_send_that_a_cancel_misses_is_told_to_end_again(int missed)
    {
        await using Script script = await Script.StartAsync();
        Connection? served = null;
        Submission receive = await script.ConnectAsync(5, async connection =>
        {
            served = connection;
            connection.Write("to a peer that takes nothing"u8);
            await connection.FlushAsync();
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Reactor.Post(_ => served!.Abort(), null);
        await script.Kernel.ExpectAsync("cancel");
        Assert.Equal(send.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        Miss(script, send, missed);
        await PassAsync(script, CancelRetry.FirstMs - 1);
        Assert.True(script.Kernel.IsQuiet);

        await PassAsync(script, 100);
        Assert.Equal(send.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Miss(script, send, missed);
        await PassAsync(script, CancelRetry.FirstMs);
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(5);

        await PassAsync(script, 60_000);
        Assert.True(script.Kernel.IsQuiet);
    }

    [Fact]
    public async Task A_disk_that_does_not_answer_is_asked_seldom()
    {
        await using Script script = await Script.StartAsync();
        Connection? served = null;
        Submission receive = await script.ConnectAsync(5, async connection =>
        {
            served = connection;
            await Assert.ThrowsAsync<IOException>(() => connection.ReadFileAsync(0, 0, 100).AsTask());
        });
        Submission read = await script.Kernel.ExpectAsync("read");
        script.Reactor.Post(_ => served!.Abort(), null);
        await script.Kernel.ExpectAsync("cancel");
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        int cancels = 0;
        for (int ms = 0; ms < 60_000; ms += 50)
        {
            await PassAsync(script, 50);
            for (; !script.Kernel.IsQuiet; cancels++)
            {
                Assert.Equal(read.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
            }
        }

        // 250, 500, 1000, 2000, 4000, and from then on every 8000 ms.
        Assert.InRange(cancels, 9, 12);
        script.Kernel.Complete(read, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(5);
    }

    [Fact]
    public async Task So_is_a_read_into_memory_of_the_callers()
    {
        await using Script script = await Script.StartAsync();
        using SafeFileHandle file = File.OpenHandle("/proc/self/exe");
        using var cancellation = new CancellationTokenSource();
        Task reading = script.Reactor.RunAsync(
            () => script.Reactor.ReadFileAsync(file, new byte[10], 0, cancellation.Token).AsTask());
        Submission read = await script.Kernel.ExpectAsync("read");
        await cancellation.CancelAsync();
        Assert.Equal(read.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        await PassAsync(script, CancelRetry.FirstMs + 100);
        Assert.Equal(read.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.False(reading.IsCompleted);
        script.Kernel.Complete(read, -Errno.ECANCELED);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading);

        await PassAsync(script, 60_000);
        Assert.True(script.Kernel.IsQuiet);
    }

    [Fact]
    public async Task So_is_an_accept()
    {
        await using Script script = await Script.StartAsync();
        var core = new ListenerContext(Script.Nowhere, static _ => Task.CompletedTask, null) { Owner = SocketOwner.Another };
        Acceptor acceptor = await script.Reactor.AskAsync(() => Acceptor.Start(script.Reactor, 7, core, script.Reactor.Admission.Acquire));
        Submission accept = await script.Kernel.ExpectAsync("accept");
        script.Reactor.Post(_ => acceptor.Stop(), null);
        await script.Kernel.ExpectAsync("cancel");
        await PassAsync(script, CancelRetry.FirstMs + OperationTickMs);
        Assert.Equal(accept.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(accept, -Errno.ECANCELED);
        Assert.Equal(7, (await script.Kernel.ExpectAsync("close")).Socket);
        await acceptor.Stopped.Within();

        await PassAsync(script, 60_000);
        Assert.True(script.Kernel.IsQuiet);
    }

    /// <summary>The cancel's own completion.</summary>
    private static void Miss(Script script, Submission missed, int result) => script.Kernel.Complete(
        missed with { Token = new OperationToken(OperationKind.Cancel, missed.Token.Generation, missed.Token.Slot) }, result);

    /// <summary>Timers that are due by then have been run.</summary>
    private static async Task PassAsync(Script script, long ms)
    {
        script.Kernel.AdvanceClock(ms);
        await script.ConnectionsAsync();
        await script.ConnectionsAsync();
    }
}
