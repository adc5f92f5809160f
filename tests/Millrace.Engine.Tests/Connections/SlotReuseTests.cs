using System.Text;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>
/// One slot, one peer after the other: nothing of the first may reach the second, in whatever order the kernel lets go.
/// </summary>
public class SlotReuseTests
{
    [Fact]
    public async Task A_connection_is_not_recycled_while_its_send_is_in_flight()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, connection =>
        {
            connection.Write("secret of the first"u8);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(receive, -Errno.ECONNRESET);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);

        script.Kernel.Complete(send, -Errno.EPIPE);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_handler_that_reads_on_does_not_keep_an_aborted_connection()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write("head"u8);
            int count = await connection.ReadFileAsync(99, 0, 10);
            IOException error = await Assert.ThrowsAsync<IOException>(async () => await connection.ReadFileAsync(99, count, 10));
            Assert.Equal(Errno.ECANCELED, error.HResult);
            connection.Retract("head"u8.Length + count);
        });
        Submission read = await script.Kernel.ExpectAsync("read");
        await AbortAllAsync(script);
        await script.Kernel.ExpectAsync("cancel");
        await script.Kernel.ExpectAsync("cancel");

        // The read was faster than its cancellation.
        script.Kernel.Complete(read, 5);
        script.Kernel.Complete(receive, -Errno.ECANCELED);

        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
        Assert.Equal(0, script.Log.Count(300));
    }

    [Fact]
    public async Task An_aborted_connection_waits_for_receive_send_and_file_read()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            connection.Write("one"u8);
            connection.Flush();
            await connection.ReadFileAsync(99, 0, 10);
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        Submission read = await script.Kernel.ExpectAsync("read");
        await AbortAllAsync(script);
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.Equal(send.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.Equal(read.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        script.Kernel.Complete(send, -Errno.ECANCELED);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);

        script.Kernel.Complete(read, 5);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_late_completion_of_an_earlier_tenant_is_dropped_and_its_buffer_returned()
    {
        await using Script script = await Script.StartAsync();
        Submission first = await script.ConnectAsync(7, static connection => Task.CompletedTask);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(first, 0);
        await script.ExpectClosedAsync(7);

        string seen = "";
        Submission second = await script.ConnectAsync(8, async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                seen += Encoding.ASCII.GetString(connection.Input);
                connection.Consume(connection.Input.Length);
            }
        });
        Assert.Equal(first.Token.Slot, second.Token.Slot);
        script.Kernel.CompleteTogether(
            (first, 5, CompletionFlags.More, "STALE"u8.ToArray()),
            (second, 5, CompletionFlags.More, "fresh"u8.ToArray()));
        script.Kernel.Complete(second, 0);
        await script.Kernel.ExpectAsync("close");
        Assert.Equal("fresh", seen);
        Assert.Equal(0, await script.Reactor.AskAsync(() => script.Kernel.BuffersLent));
    }

    [Fact]
    public async Task A_read_left_pending_does_not_haunt_the_next_tenant()
    {
        await using Script script = await Script.StartAsync();
        Task<ReadOutcome>? left = null;
        Submission first = await script.ConnectAsync(7, connection =>
        {
            left = connection.ReadAsync().AsTask();
            return Task.CompletedTask;
        });
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.AdvanceClock(10_000);
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(first, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
        Assert.Equal(ReadOutcome.Reset, await left!.Within());

        var outcome = new TaskCompletionSource<ReadOutcome>();
        Submission second = await script.ConnectAsync(8, async connection => outcome.SetResult(await connection.ReadAsync()));
        script.Kernel.Deliver(second, "x"u8.ToArray());
        Assert.Equal(ReadOutcome.Data, await outcome.Task.Within());
        await EndLingeringAsync(script, second, 8);
    }

    [Fact]
    public async Task An_abort_asked_for_the_first_tenant_spares_the_second()
    {
        await using Script script = await Script.StartAsync();
        AbortHandle? handle = null;
        Submission first = await script.ConnectAsync(7, c =>
        {
            handle = c.AbortHandle;
            return Task.CompletedTask;
        });
        await script.Kernel.ExpectAsync("shutdown");

        // The post is queued after one that recycles the slot and lets the next peer in.
        using var gate = new ManualResetEventSlim();
        using var atGate = new ManualResetEventSlim();
        script.Reactor.Post(
            _ =>
            {
                atGate.Set();
                gate.Wait();
            },
            null);
        atGate.Wait(EngineTest.Patience);
        handle!.Value.RequestAbort();
        script.Kernel.Complete(first, 0);
        gate.Set();
        await script.ExpectClosedAsync(7);
        Submission second = await script.ConnectAsync(8, static async c => await c.ReadAsync());
        Assert.Equal(1, await script.ConnectionsAsync());
        script.Kernel.Complete(second, 0);
        await script.ExpectClosedAsync(8);
    }

    [Fact]
    public async Task What_a_filter_passes_in_after_the_handlers_end_is_not_the_next_tenants_input()
    {
        await using Script script = await Script.StartAsync();
        Submission first = await script.ConnectAsync(
            7,
            static async connection =>
            {
                await connection.ReadAsync();
                connection.Abort();
            },
            static _ => [new SplittingFilter()]);

        // The receive ends with these bytes, so nothing is in flight when the handler aborts: the slot is free between the halves.
        script.Kernel.Deliver(first, "aSTALE"u8.ToArray(), CompletionFlags.None);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);

        string seen = "";
        Submission second = await script.ConnectAsync(8, async connection =>
        {
            await connection.ReadAsync();
            seen = Encoding.ASCII.GetString(connection.Input);
            connection.Consume(connection.Input.Length);
        });
        script.Kernel.Deliver(second, "fresh"u8.ToArray());
        await EndLingeringAsync(script, second, 8);
        Assert.Equal("fresh", seen);
    }

    [Fact]
    public async Task A_slot_freed_inside_its_own_dispatch_is_left_alone()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            await connection.ReadAsync();
            connection.Abort();
        });
        script.Kernel.Deliver(receive, "terminal"u8.ToArray(), CompletionFlags.None);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
        Assert.True(script.Kernel.IsQuiet);
    }

    private static async Task EndLingeringAsync(Script script, Submission receive, int socket)
    {
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(socket);
    }

    private static Task<bool> AbortAllAsync(Script script) => script.Reactor.AskAsync(() =>
    {
        foreach (Connection connection in script.Reactor.Connections.InUse())
        {
            connection.Abort();
        }

        return true;
    });
}
