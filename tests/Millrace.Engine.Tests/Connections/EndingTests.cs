using System.Net.Sockets;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>How connections end: by either side, in order or not, at every moment.</summary>
public class EndingTests : EngineTest
{
    private const int Large = 4 * 1024 * 1024;

    /// <summary>Whether the kernel has a copy of what was sent, and needs nothing of us to send it on.</summary>
    internal virtual bool SendsCopies => true;

    [Fact]
    public async Task A_fin_behind_the_request_still_gets_the_whole_answer()
    {
        Listener listener = await ServeAsync(Handlers.PatternAsync);
        Client client = await ConnectAsync(listener);
        await client.SendAsync(Handlers.PatternRequest(3, Large));
        client.EndSending();
        byte[] response = await client.ReceiveToEndAsync();
        Assert.Equal(Large, response.Length);
        Pattern.Check(3, response);
    }

    [Fact]
    public async Task An_answer_is_readable_although_more_was_sent_than_read()
    {
        Listener listener = await ServeAsync(async connection =>
        {
            await connection.ReadAsync();
            connection.Write("refused"u8);
        }, Options(new Limits { Linger = Patience }));
        Client client = await ConnectAsync(listener);
        await client.SendAsync(new byte[200_000]);
        Assert.Equal("refused", await client.ReceiveTextAsync(7));
        await client.SendAsync(new byte[200_000]);
        Assert.Empty(await client.ReceiveToEndAsync());
    }

    [Fact]
    public async Task An_answer_that_is_on_its_way_survives_a_drain_without_patience()
    {
        Listener listener = await ServeAsync(static connection =>
        {
            connection.Write(new byte[50_000]);
            return Task.CompletedTask;
        });
        // A slow peer: most of it is in our kernel yet, which a reset would have dropped.
        Client client = Keep(await Client.ConnectAsync(listener.EndPoint, receiveBufferBytes: 4096));
        await Waiting.UntilAsync(() => client.Socket.Available > 0, "the answer has begun");
        await Group.StopAsync(TimeSpan.Zero).Within();
        if (SendsCopies)
        {
            Assert.Equal(50_000, (await client.ReceiveToEndAsync()).Length);
        }
        else
        {
            // What the peer has not acknowledged stands in our memory alone, which goes with the reactor.
            SocketException error = await Assert.ThrowsAsync<SocketException>(client.ReceiveToEndAsync);
            Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
        }
    }

    [Fact]
    public async Task An_abort_by_the_handler_is_a_reset()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            await connection.ReadAsync();
            connection.Abort();
            Assert.Equal(ReadOutcome.Reset, await connection.ReadAsync());
        });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("x");
        await client.ExpectResetAsync();
        Assert.Equal(0, Log.Count(300));
    }

    [Fact]
    public async Task An_abort_asked_for_elsewhere_ends_the_handlers_waits()
    {
        var outcomes = new TaskCompletionSource<(ReadOutcome, FlushOutcome)>();
        AbortHandle? served = null;
        Listener listener = await ServeAsync(async connection =>
        {
            connection.Write(new byte[64 * 1024 * 1024]);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            served = connection.AbortHandle;
            ReadOutcome read = await connection.ReadAsync();
            outcomes.SetResult((read, await flush));
        });
        Client client = await ConnectAsync(listener);
        await client.ReceiveAsync(1);
        served!.Value.RequestAbort();
        Assert.Equal((ReadOutcome.Reset, FlushOutcome.Closed), await outcomes.Task.Within());
        await client.ExpectResetAsync();
    }

    [Fact]
    public async Task A_peer_that_resets_amid_a_send_ends_the_flush()
    {
        var outcome = new TaskCompletionSource<FlushOutcome>();
        Listener listener = await ServeAsync(async connection =>
        {
            connection.Write(new byte[64 * 1024 * 1024]);
            outcome.SetResult(await connection.FlushAsync());
            Assert.Equal(FlushOutcome.Closed, await connection.FlushAsync());
            connection.Write("into the void"u8);
        });
        Client client = await ConnectAsync(listener);
        await client.ReceiveAsync(100_000);
        client.Reset();
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.Within());
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");
        Assert.Equal(0, Log.Count(300));
    }

    [Fact]
    public async Task A_peer_that_resets_amid_a_request_ends_the_read()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        var began = new TaskCompletionSource();
        Listener listener = await ServeAsync(async connection =>
        {
            await connection.ReadAsync();
            began.SetResult();
            outcome.SetResult(await connection.ReadAsync());
        });
        Client client = await ConnectAsync(listener);
        await client.SendAsync("GE");
        await began.Task.Within();
        client.Reset();
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.Within());
    }

    [Fact]
    public async Task A_handler_that_awaited_something_foreign_comes_home()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            for (int i = 0; i < 100; i++)
            {
                await connection.ReadAsync();
                await Task.Run(static () => { });
                await connection.Reactor.SwitchTo();
                Assert.Same(Reactor.Current, connection.Reactor);
                connection.Write(connection.Input);
                connection.Consume(connection.Input.Length);
                await connection.FlushAsync();
            }
        });
        Client client = await ConnectAsync(listener);
        for (int i = 0; i < 100; i++)
        {
            await client.SendAsync($"{i:d2}");
            Assert.Equal($"{i:d2}", await client.ReceiveTextAsync(2));
        }

        Assert.Empty(await client.ReceiveToEndAsync());
    }

    [Fact]
    public async Task A_handler_that_returns_on_a_foreign_thread_ends_in_order()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            connection.Write("bye"u8);
            await Task.Yield();
        });
        Client client = await ConnectAsync(listener);
        Assert.Equal(3, (await client.ReceiveToEndAsync()).Length);
    }

    [Fact]
    public async Task A_read_deadline_passes_and_the_connection_goes_on()
    {
        Listener listener = await ServeAsync(static async connection =>
        {
            connection.SetReadDeadline(TimeSpan.FromMilliseconds(50));
            Assert.Equal(ReadOutcome.TimedOut, await connection.ReadAsync());
            Assert.Equal(ReadOutcome.TimedOut, await connection.ReadAsync());
            connection.SetReadDeadline(Timeout.InfiniteTimeSpan);
            connection.Write("late"u8);
            connection.Flush();
            await Handlers.EchoAsync(connection);
        });
        Client client = await ConnectAsync(listener);
        Assert.Equal("late", await client.ReceiveTextAsync(4));
        await client.SendAsync("but well");
        Assert.Equal("but well", await client.ReceiveTextAsync(8));
    }

    [Fact]
    public async Task A_deadline_set_while_a_read_waits_counts_at_once()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        Listener listener = await ServeAsync(async connection =>
        {
            ValueTask<ReadOutcome> read = connection.ReadAsync();
            connection.SetReadDeadline(TimeSpan.FromMinutes(5));
            connection.SetReadDeadline(TimeSpan.FromMilliseconds(30));
            outcome.SetResult(await read);
        });
        await ConnectAsync(listener);
        Assert.Equal(ReadOutcome.TimedOut, await outcome.Task.Within());
    }

    [Fact]
    public async Task A_peer_that_never_reads_is_reset_when_its_time_is_over()
    {
        var outcome = new TaskCompletionSource<FlushOutcome>();
        Listener listener = await ServeAsync(
            async connection =>
            {
                connection.Write(new byte[64 * 1024 * 1024]);
                outcome.SetResult(await connection.FlushAsync());
            },
            Options(new Limits { WriteStall = TimeSpan.FromMilliseconds(200) }));
        Client client = await ConnectAsync(listener);
        Assert.Equal(FlushOutcome.Closed, await outcome.Task.Within());
        await client.ExpectResetAsync();
    }
}
