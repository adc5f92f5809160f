using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Sends without a copy, step by step: what waits for the notice, and what does not.</summary>
public class ScriptedZeroCopyTests
{
    private const string ZeroCopySend = "zero-copy send";

    [Fact]
    public async Task A_flush_and_the_next_send_wait_for_the_notice()
    {
        await using Script script = await StartAsync();
        var flushed = new TaskCompletionSource();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            connection.Write("first"u8);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            await connection.ReadAsync();
            connection.Write("second"u8);
            connection.Flush();
            Assert.Equal(FlushOutcome.Sent, await flush);
            flushed.SetResult();
        });
        Submission send = await script.Kernel.ExpectAsync(ZeroCopySend);
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        script.Kernel.Complete(send, 5, CompletionFlags.More);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.False(flushed.Task.IsCompleted);
        Assert.True(script.Kernel.IsQuiet);

        script.Kernel.Complete(send, 0);
        send = await script.Kernel.ExpectAsync(ZeroCopySend);
        Assert.Equal("second"u8, send.Bytes);
        script.Kernel.Complete(send, 6, CompletionFlags.More);
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, 0);
        await flushed.Task.Within();
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        Assert.Equal(0, script.Log.Count(300));
    }

    [Fact]
    public async Task A_send_that_is_cut_goes_on_behind_the_notice()
    {
        await using Script script = await StartAsync();
        Submission receive = await script.ConnectAsync(7, static connection =>
        {
            connection.Write("abcdef"u8);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync(ZeroCopySend);
        script.Kernel.Complete(send, 2, CompletionFlags.More);
        await script.ConnectionsAsync();
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, 0);
        send = await script.Kernel.ExpectAsync(ZeroCopySend);
        Assert.Equal("cdef"u8, send.Bytes);
        script.Kernel.Complete(send, 4, CompletionFlags.More);
        script.Kernel.Complete(send, 0);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task An_abort_closes_the_socket_and_gives_memory_and_slot_back_with_the_notice()
    {
        await using Script script = await StartAsync();
        nint memory = Marshal.StringToHGlobalAnsi("referred to");
        FlushOutcome? outcome = null;
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            WriteReference(connection, memory, 11);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            await connection.ReadAsync();
            connection.Abort();
            outcome = await flush;
        });
        Submission send = await script.Kernel.ExpectAsync(ZeroCopySend);
        script.Kernel.Complete(send, 11, CompletionFlags.More);
        script.Kernel.Deliver(receive, "x"u8.ToArray());

        // The receive alone: the send has nothing left that could be cancelled.
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.Kernel.ExpectAsync("close");
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.Null(outcome);

        script.Kernel.Complete(send, 0);
        Assert.Equal(0, await script.ConnectionsAsync());
        Assert.Equal(FlushOutcome.Closed, outcome);
        Assert.True(script.Kernel.IsQuiet);
        Marshal.FreeHGlobal(memory);
    }

    [Fact]
    public async Task A_result_that_comes_when_all_else_has_ended_closes_the_socket()
    {
        await using Script script = await StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write("late"u8);
            connection.Flush();
            await connection.ReadAsync();
            connection.Abort();
        });
        Submission send = await script.Kernel.ExpectAsync(ZeroCopySend);
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await script.Kernel.ExpectAsync("cancel");
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, -Errno.ECANCELED, CompletionFlags.More);
        await script.Kernel.ExpectAsync("reset");
        await script.Kernel.ExpectAsync("close");
        Assert.Equal(1, await script.ConnectionsAsync());
        script.Kernel.Complete(send, 0);
        Assert.Equal(0, await script.ConnectionsAsync());
    }

    [Theory]
    [InlineData(Errno.EOPNOTSUPP, false)]
    [InlineData(Errno.EOPNOTSUPP, true)]
    [InlineData(Errno.ENOMEM, false)]
    [InlineData(Errno.EINVAL, false)]
    public async Task Where_it_is_refused_the_same_bytes_are_sent_from_a_copy_and_so_is_the_rest(int errno, bool isNoticed)
    {
        await using Script script = await StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write("first"u8);
            Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            connection.Write("second"u8);
        });
        Submission send = await script.Kernel.ExpectAsync(ZeroCopySend);
        script.Kernel.Complete(send, -errno, isNoticed ? CompletionFlags.More : CompletionFlags.None);
        if (isNoticed)
        {
            script.Kernel.Complete(send, 0);
        }

        send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("first"u8, send.Bytes);
        script.Kernel.Complete(send, 5);
        send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("second"u8, send.Bytes);
        script.Kernel.Complete(send, 6);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);

        // It was that connection's alone.
        receive = await script.ConnectAsync(8, static connection =>
        {
            connection.Write("other"u8);
            return Task.CompletedTask;
        });
        send = await script.Kernel.ExpectAsync(ZeroCopySend);
        script.Kernel.Complete(send, 5);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(8);
    }

    [Fact]
    public async Task Smaller_sends_are_copied()
    {
        await using Script script = await StartAsync(leastBytes: 6);
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write("small"u8);
            await connection.FlushAsync();
            connection.Write("larger"u8);
        });
        script.Kernel.Complete(await script.Kernel.ExpectAsync("send"), 5);
        script.Kernel.Complete(await script.Kernel.ExpectAsync(ZeroCopySend), 6);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    private static async Task<Script> StartAsync(int leastBytes = 1)
    {
        Script script = await Script.StartAsync();
        script.Kernel.ZeroCopyFrom = leastBytes;
        return script;
    }

    private static unsafe void WriteReference(Connection connection, nint memory, int count) =>
        connection.WriteReference((byte*)memory, count);
}
