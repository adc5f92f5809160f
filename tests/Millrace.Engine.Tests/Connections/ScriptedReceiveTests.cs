using System.Text;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Receives that are paused, cancelled or ended, step by step.</summary>
public class ScriptedReceiveTests
{
    private static readonly Limits Narrow = new() { InputHighWaterBytes = 100 };

    [Theory]
    [InlineData(Errno.ETIMEDOUT, true)]
    [InlineData(Errno.ECONNRESET, false)]
    public async Task A_connection_that_breaks_says_by_what_unless_it_was_a_reset(int errno, bool isFault)
    {
        await using Script script = await Script.StartAsync();
        for (int round = 0; round < 2; round++)
        {
            string? fault = "none yet";
            Submission receive = await script.ConnectAsync(7, async connection =>
            {
                Assert.Null(connection.Ending.Fault);
                await connection.ReadAsync();
                fault = connection.Ending.Fault;
            });
            script.Kernel.Complete(receive, -errno);
            await script.ExpectClosedAsync(7);
            Assert.Equal(isFault ? Errno.Describe(-errno) : null, fault);
        }
    }

    [Fact]
    public async Task A_reader_that_falls_behind_stops_the_receive_until_half_was_consumed()
    {
        await using Script script = await Script.StartAsync(Narrow);
        var gate = new TaskCompletionSource();
        Submission receive = await script.ConnectAsync(7, connection => StallAsync(connection, gate.Task));
        script.Kernel.Deliver(receive, new byte[60]);
        script.Kernel.Deliver(receive, new byte[60]);
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);

        // What was under way when the cancellation came is not lost, nor is the cancellation asked for again.
        script.Kernel.Deliver(receive, new byte[10]);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        Connection connection = await script.Reactor.AskAsync(() => script.Reactor.Connections.At(0));
        Assert.Equal(130, await script.Reactor.AskAsync(() => connection.Input.Length));
        await script.Reactor.AskAsync(() => Consume(connection, 79));
        Assert.True(script.Kernel.IsQuiet);
        await script.Reactor.AskAsync(() => Consume(connection, 1));
        receive = await script.Kernel.ExpectAsync("receive");
        gate.SetResult();
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Theory]
    [InlineData(40)]
    [InlineData(0)]
    public async Task A_reader_that_waits_for_more_gets_it_whatever_it_keeps(int consumed)
    {
        await using Script script = await Script.StartAsync(Narrow);
        var gate = new TaskCompletionSource();
        var total = new TaskCompletionSource<int>();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            await StallAsync(connection, gate.Task);
            connection.Consume(consumed);
            while (connection.Input.Length < 1_000)
            {
                await connection.ReadAsync();
            }

            total.SetResult(connection.Input.Length);
            connection.Consume(connection.Input.Length);
        });
        script.Kernel.Deliver(receive, new byte[60]);
        script.Kernel.Deliver(receive, new byte[60]);
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        Assert.Equal(1, await script.ConnectionsAsync());
        gate.SetResult();
        receive = await script.Kernel.ExpectAsync("receive");
        for (int i = 0; i < 10; i++)
        {
            script.Kernel.Deliver(receive, new byte[100]);
        }

        Assert.True(await total.Task.Within() >= 1_000);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task Input_that_ends_a_receive_is_read_before_the_next_is_armed()
    {
        await using Script script = await Script.StartAsync();
        var seen = new StringBuilder();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                // Kept until a whole word is there: the rest must outlive the receive buffer it lies in.
                if (connection.Input[^1] == '.')
                {
                    seen.Append(Encoding.ASCII.GetString(connection.Input));
                    connection.Consume(connection.Input.Length);
                }
            }
        });
        foreach (string piece in (string[])["some", "thing.", "el", "s", "e."])
        {
            script.Kernel.Deliver(receive, Encoding.ASCII.GetBytes(piece), CompletionFlags.None);
            receive = await script.Kernel.ExpectAsync("receive");
        }

        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        Assert.Equal("something.else.", seen.ToString());
    }

    [Fact]
    public async Task Who_waits_for_a_receive_buffer_has_it_before_newcomers_and_in_his_turn()
    {
        await using Script script = await Script.StartAsync();
        var receives = new List<Submission>();
        foreach (int socket in (int[])[7, 8, 9])
        {
            receives.Add(await script.ConnectAsync(socket, Handlers.EchoAsync));
        }

        Submission accept = await script.ListenAsync(3, Handlers.EchoAsync);

        // Three that found no buffer, a newcomer, and two buffers an iteration.
        script.Kernel.CompleteTogether(
            [.. receives.Select(static receive => (receive, -Errno.ENOBUFS, CompletionFlags.None, (byte[]?)null)), (accept, 10, CompletionFlags.More, null)]);

        foreach (int socket in (int[])[7, 8, 9, 10])
        {
            Assert.Equal(socket, (await script.Kernel.ExpectAsync("receive")).Socket);
        }
    }

    [Fact]
    public async Task A_lingering_peer_that_goes_on_sending_is_cut_off()
    {
        await using Script script = await Script.StartAsync(new Limits { LingerBytes = 100 });
        Submission receive = await script.ConnectAsync(7, static connection => Task.CompletedTask);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Deliver(receive, new byte[100]);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Deliver(receive, new byte[1]);
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_peer_that_goes_on_sending_is_held_up_until_its_answer_is_out()
    {
        await using Script script = await Script.StartAsync(new Limits { LingerBytes = 100 });
        Submission receive = await script.ConnectAsync(7, static connection =>
        {
            connection.Write("answer"u8);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync("send");

        script.Kernel.Deliver(receive, new byte[101]);
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);

        script.Kernel.Complete(send, "answer".Length);
        await script.Kernel.ExpectAsync("shutdown");
        receive = await script.Kernel.ExpectAsync("receive");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_lingering_peer_that_stays_silent_is_closed_in_order_after_the_deadline()
    {
        await using Script script = await Script.StartAsync(new Limits { Linger = TimeSpan.FromSeconds(1) });
        Submission receive = await script.ConnectAsync(7, static connection => Task.CompletedTask);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.AdvanceClock(900);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.AdvanceClock(200);
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
    }

    private static async Task StallAsync(Connection connection, Task gate)
    {
        while (connection.Input.Length < 60)
        {
            await connection.ReadAsync();
        }

        await gate;
        await connection.Reactor.SwitchTo();
    }

    private static bool Consume(Connection connection, int count)
    {
        connection.Consume(count);
        return true;
    }

    [Theory]
    [InlineData(1, 10, 15)]
    [InlineData(100, 17, 25)]
    [InlineData(300, 60, 62)]
    public async Task A_peer_that_sends_less_than_the_rate_times_out_and_in_any_case_at_the_latest(
        int bytesPerSecond, int earliestSeconds, int latestSeconds)
    {
        await using Script script = await Script.StartAsync();
        var outcome = new TaskCompletionSource<ReadOutcome>(TaskCreationOptions.RunContinuationsAsynchronously);
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            connection.SetReadRate(240, TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(60));
            ReadOutcome last;
            do
            {
                last = await connection.ReadAsync();
                connection.Consume(connection.Input.Length);
            }
            while (last == ReadOutcome.Data);
            outcome.SetResult(last);
        });
        int seconds = 0;
        while (!outcome.Task.IsCompleted && seconds < 100)
        {
            script.Kernel.Deliver(receive, new byte[bytesPerSecond]);
            script.Kernel.AdvanceClock(1_000);
            seconds++;
            await script.ConnectionsAsync();
        }

        Assert.Equal(ReadOutcome.TimedOut, await outcome.Task.Within());
        Assert.InRange(seconds, earliestSeconds, latestSeconds);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_deadline_takes_the_rate_away()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.SetReadRate(240, TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(60));
            connection.SetReadDeadline(TimeSpan.FromSeconds(30));
            Assert.Equal(ReadOutcome.Data, await connection.ReadAsync());
        });
        for (int second = 0; second < 25; second++)
        {
            script.Kernel.AdvanceClock(1_000);
            await script.ConnectionsAsync();
        }

        script.Kernel.Deliver(receive, [1]);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        Assert.Equal(0, script.Log.Count(300));
    }
}
