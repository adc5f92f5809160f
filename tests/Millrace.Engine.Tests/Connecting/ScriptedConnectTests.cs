using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Connecting;

/// <summary>The orders in which a connect, its time, its cancellation and the stop can meet: the socket is closed once in each.</summary>
public class ScriptedConnectTests
{
    private static readonly IPEndPoint Nowhere = new(IPAddress.Loopback, 1);

    [Fact]
    public async Task A_connect_that_succeeds_becomes_a_connection()
    {
        await using Script script = await Script.StartAsync();
        Task connect = Connect(script, static connection => connection.ReadAsync().AsTask());
        Submission asked = await script.Kernel.ExpectAsync("connect");
        script.Kernel.Complete(asked, 0);
        await connect;
        Submission receive = await script.Kernel.ExpectAsync("receive");
        Assert.Equal(asked.Socket, receive.Socket);
        script.Kernel.Complete(receive, -Errno.ECONNRESET);
        await ExpectClosedAsync(script, asked);
    }

    /// <summary>A receive that fills its buffer is followed by calls, until one finds less than it could take.</summary>
    [Fact]
    public async Task What_did_not_fit_into_a_receive_buffer_is_received_by_calls_and_then_a_receive_is_submitted()
    {
        await using Script script = await Script.StartAsync();
        var pieces = new List<int>();
        Task connect = Connect(script, async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                pieces.Add(connection.Input.Length);
                connection.Consume(connection.Input.Length);
            }
        });
        Submission asked = await script.Kernel.ExpectAsync("connect");
        script.Kernel.Complete(asked, 0);
        await connect;
        Submission receive = await script.Kernel.ExpectAsync("receive");
        script.Kernel.Arrived.Enqueue(new byte[128 * 1024]);
        script.Kernel.Arrived.Enqueue(new byte[100]);
        script.Kernel.Complete(receive, 4_096, data: new byte[4_096]);
        receive = await script.Kernel.ExpectAsync("receive");
        script.Kernel.Complete(receive, 10, data: new byte[10]);
        receive = await script.Kernel.ExpectAsync("receive");
        script.Kernel.Complete(receive, 0);
        await ExpectClosedAsync(script, asked);

        Assert.Equal([4_096, 128 * 1024, 100, 10], pieces);
        Assert.Equal(0, script.Kernel.BuffersLent);
    }

    /// <summary>The minimum rate is for clients. A server that takes an upload slowly is waited for, one that takes nothing is not.</summary>
    [Theory]
    [InlineData(1, false)]
    [InlineData(0, true)]
    public async Task A_server_may_take_what_it_is_sent_slowly(int bytesPerSecond, bool isReset)
    {
        await using Script script = await Script.StartAsync();
        var flushed = new TaskCompletionSource<FlushOutcome>();
        Task connect = Connect(script, async connection =>
        {
            connection.Write(new byte[1_000_000]);
            flushed.SetResult(await connection.FlushAsync());
        });
        Submission asked = await script.Kernel.ExpectAsync("connect");
        script.Kernel.Complete(asked, 0);
        await connect;
        Submission receive = await script.Kernel.ExpectAsync("receive");
        Submission send = await script.Kernel.ExpectAsync("send");
        for (int i = 0; i < 200 && script.Kernel.IsQuiet; i++)
        {
            script.Kernel.Taken += bytesPerSecond;
            script.Kernel.AdvanceClock(1_000);
            await script.ConnectionsAsync();
        }

        Assert.Equal(isReset ? 1 : 0, script.Reactor.Counters.Stalled);
        script.Kernel.Complete(receive, -Errno.ECONNRESET);
        script.Kernel.Complete(send, -Errno.ECONNRESET);
        Assert.Equal(FlushOutcome.Closed, await flushed.Task.Within());
        await script.Kernel.ExpectAfterCancelsAsync(isReset ? "reset" : "close");
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-Errno.ECANCELED)]
    [InlineData(-Errno.ECONNREFUSED)]
    public async Task One_that_was_cancelled_is_closed_whatever_it_comes_to(int result)
    {
        await using Script script = await Script.StartAsync();
        using var cancellation = new CancellationTokenSource();
        Task connect = Connect(script, Never, cancellation.Token);
        Submission asked = await script.Kernel.ExpectAsync("connect");
        await cancellation.CancelAsync();
        Assert.Equal(asked.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.False(connect.IsCompleted);

        // Its time comes while the kernel has not let go: a cancel may have missed, and is all that is asked for.
        script.Kernel.AdvanceClock(60_000);
        await script.ConnectionsAsync();
        Assert.Equal(asked.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(asked, result);
        await ExpectClosedAsync(script, asked);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-Errno.ECANCELED)]
    public async Task One_whose_time_is_over_is_closed_whatever_it_comes_to(int result)
    {
        await using Script script = await Script.StartAsync();
        using var cancellation = new CancellationTokenSource();
        Task connect = Connect(script, Never, cancellation.Token);
        Submission asked = await script.Kernel.ExpectAsync("connect");
        script.Kernel.AdvanceClock(16_000);
        Assert.Equal(asked.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        await cancellation.CancelAsync();
        await script.ConnectionsAsync();
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(asked, result);
        await ExpectClosedAsync(script, asked);
        Assert.Equal(SocketError.TimedOut, (await Assert.ThrowsAsync<SocketException>(() => connect)).SocketErrorCode);
    }

    [Fact]
    public async Task One_that_is_turned_back_for_now_is_tried_again_until_its_time_is_over()
    {
        await using Script script = await Script.StartAsync();
        Task connect = Connect(script, Never);
        Submission asked = await script.Kernel.ExpectAsync("connect");
        foreach (int errno in (int[])[Errno.EAGAIN, Errno.EINTR, Errno.EAGAIN])
        {
            script.Kernel.Complete(asked, -errno);
            await script.ConnectionsAsync();
            Assert.True(script.Kernel.IsQuiet);
            script.Kernel.AdvanceClock(20);
            asked = await script.Kernel.ExpectAsync("connect");
        }

        // Over in the pause: nothing is in flight that could be cancelled.
        script.Kernel.Complete(asked, -Errno.EAGAIN);
        await script.ConnectionsAsync();
        script.Kernel.AdvanceClock(16_000);
        await ExpectClosedAsync(script, asked);
        Assert.Equal(SocketError.TimedOut, (await Assert.ThrowsAsync<SocketException>(() => connect)).SocketErrorCode);
    }

    [Fact]
    public async Task The_stop_waits_for_the_kernel_to_let_go()
    {
        Script script = await Script.StartAsync();
        Task connect = Connect(script, Never);
        Submission asked = await script.Kernel.ExpectAsync("connect");
        Task stop = script.Reactor.StopAsync(TimeSpan.FromHours(1));
        Assert.Equal(asked.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.False(stop.IsCompleted);
        script.Kernel.Complete(asked, 0);
        Submission closed = await script.Kernel.ExpectAsync("close");
        Assert.Equal(asked.Socket, closed.Socket);
        _ = SocketCalls.Close(closed.Socket);
        await stop.Within();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => connect);
    }

    [Fact]
    public async Task A_late_completion_means_no_later_connect()
    {
        await using Script script = await Script.StartAsync();
        Task first = Connect(script, Never);
        Submission early = await script.Kernel.ExpectAsync("connect");
        script.Kernel.Complete(early, -Errno.ENETUNREACH);
        await ExpectClosedAsync(script, early);
        Assert.Equal(SocketError.NetworkUnreachable, (await Assert.ThrowsAsync<SocketException>(() => first)).SocketErrorCode);

        Task second = Connect(script, Never);
        Submission late = await script.Kernel.ExpectAsync("connect");
        Assert.Equal(early.Token.Slot, late.Token.Slot);
        script.Kernel.Complete(early, 0);
        await script.ConnectionsAsync();
        Assert.False(second.IsCompleted);
        script.Kernel.Complete(late, -Errno.ECONNREFUSED);
        await ExpectClosedAsync(script, late);
        await Assert.ThrowsAsync<SocketException>(() => second);
    }

    [Fact]
    public async Task The_handler_finds_no_ambient_value_of_the_caller_who_keeps_his_own()
    {
        await using Script script = await Script.StartAsync();
        var ambient = new AsyncLocal<string?>();
        string? found = "nothing";
        string? kept = null;
        Task connect = script.Reactor.RunAsync(async () =>
        {
            ambient.Value = "the caller's";
            await script.Reactor.ConnectAsync(Nowhere, _ =>
            {
                found = ambient.Value;
                ambient.Value = "the handler's";
                return Task.CompletedTask;
            });
            kept = ambient.Value;
        });
        Submission asked = await script.Kernel.ExpectAsync("connect");
        script.Kernel.Complete(asked, 0);
        await connect;
        Submission receive = await script.Kernel.ExpectAsync("receive");
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await ExpectClosedAsync(script, asked);

        Assert.Equal((null, "the caller's"), (found, kept));
    }

    private static Task Connect(Script script, ConnectionHandler handler, CancellationToken cancellation = default) =>
        script.Reactor.RunAsync(() => script.Reactor.ConnectAsync(Nowhere, handler, cancellation));

    private static Task Never(Connection connection) => throw new InvalidOperationException("Nothing was to be connected.");

    /// <summary>The script only tells of it; the socket is a real one.</summary>
    private static async Task ExpectClosedAsync(Script script, Submission asked)
    {
        await script.ExpectClosedAsync(asked.Socket);
        Assert.Equal(0, SocketCalls.Close(asked.Socket));
        Assert.Equal(0, await script.Reactor.AskAsync(() => script.Reactor.Operations.Count));
    }
}
