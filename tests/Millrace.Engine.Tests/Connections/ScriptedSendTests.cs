using System.Net.Sockets;
using System.Text;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Sends that are cut short, refused or overtaken by an abort, step by step.</summary>
public class ScriptedSendTests
{
    [Fact]
    public async Task What_was_flushed_is_not_sent_after_an_abort_in_the_same_turn()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            await connection.ReadAsync();
            connection.Write("too late"u8);
            connection.Flush();
            connection.Abort();
        });
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task An_end_by_fin_drops_what_is_unsent_and_does_not_reset()
    {
        await using Script script = await Script.StartAsync();
        var outcomes = new List<object>();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            connection.Write("under way"u8);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            outcomes.Add(await connection.ReadAsync());
            connection.Finish();
            connection.Abort();
            outcomes.Add(await connection.ReadAsync());
            outcomes.Add(await flush);
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await script.Kernel.ExpectAsync("cancel");
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        script.Kernel.Complete(send, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
        Assert.Equal([ReadOutcome.Data, ReadOutcome.Reset, FlushOutcome.Closed], outcomes);
    }

    [Fact]
    public async Task A_flush_awaited_after_an_abort_is_closed()
    {
        await using Script script = await Script.StartAsync();
        FlushOutcome? outcome = null;
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            await connection.ReadAsync();
            connection.Abort();
            connection.Write("too late"u8);
            outcome = await connection.FlushAsync();
        });
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
        Assert.Equal(FlushOutcome.Closed, outcome);
    }

    [Fact]
    public async Task A_flush_waits_for_what_was_flushed_not_for_what_was_written_since()
    {
        await using Script script = await Script.StartAsync();
        var wrote = new TaskCompletionSource();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            connection.Write("first"u8);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            await connection.ReadAsync();
            connection.Write("second"u8);
            wrote.SetResult();
            Assert.Equal(FlushOutcome.Sent, await flush);
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("first"u8, send.Bytes);
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await wrote.Task.Within();
        script.Kernel.Complete(send, 5);

        // The handler goes on, returns, and its end flushes the rest.
        send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("second"u8, send.Bytes);
        script.Kernel.Complete(send, 6);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        Assert.Equal(0, script.Log.Count(300));
    }

    [Fact]
    public async Task What_was_written_behind_a_flush_can_be_taken_back_until_its_file_is_read_whole()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write("first|"u8);
            connection.Flush();
            await connection.ReadAsync();
            connection.Write("second|"u8);
            connection.Flush();
            connection.Write("head|"u8);
            int read = await connection.ReadFileAsync(9, 0, 100);
            read += await connection.ReadFileAsync(9, read, 100 - read);
            connection.Retract("head|"u8.Length + read);
            connection.Write("other head"u8);
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        Submission file = await script.Kernel.ExpectAsync("read");
        script.Kernel.Complete(send, send.Bytes.Length);
        script.Kernel.Complete(file, 5);
        file = await script.Kernel.ExpectAsync("read");
        script.Kernel.Complete(file, 0);

        send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("second|other head"u8, send.Bytes);
        script.Kernel.Complete(send, send.Bytes.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
        Assert.Equal(0, script.Log.Count(300));
    }

    [Fact]
    public async Task What_was_flushed_cannot_be_taken_back()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static connection =>
        {
            connection.Write("flushed"u8);
            connection.Flush();
            connection.Write("since"u8);
            Assert.Throws<ArgumentOutOfRangeException>(() => connection.Retract("since"u8.Length + 1));
            connection.Retract("since"u8.Length);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("flushed"u8, send.Bytes);
        script.Kernel.Complete(send, send.Bytes.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_send_cut_short_goes_on_where_it_stopped()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static connection =>
        {
            connection.Write("0123456789"u8);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        var sent = new StringBuilder();
        foreach (int result in (int[])[3, -Errno.EINTR, 1])
        {
            sent.Append(Encoding.ASCII.GetString(send.Bytes, 0, Math.Max(result, 0)));
            script.Kernel.Complete(send, result);
            send = await script.Kernel.ExpectAsync("send");
        }

        Assert.Equal("0123456789", sent + Encoding.ASCII.GetString(send.Bytes));
        script.Kernel.Complete(send, send.Bytes.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Theory]
    [InlineData(Errno.EAGAIN)]
    [InlineData(Errno.ENOBUFS)]
    [InlineData(Errno.ENOMEM)]
    public async Task A_send_without_memory_is_tried_again_after_a_while(int errno)
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static connection =>
        {
            connection.Write("x"u8);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(send, -errno);
        // Twice: the first may be answered in the iteration that takes the completion.
        await script.ConnectionsAsync();
        await script.ConnectionsAsync();
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.AdvanceClock(200);
        send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(send, 1);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task The_batch_filled_during_a_send_follows_it()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            while (await connection.ReadAsync() == ReadOutcome.Data)
            {
                connection.Write(connection.Input);
                connection.Consume(connection.Input.Length);
                connection.Flush();
            }
        });
        script.Kernel.Deliver(receive, "a"u8.ToArray());
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Deliver(receive, "b"u8.ToArray());
        script.Kernel.Deliver(receive, "c"u8.ToArray());
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, 1);
        send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("bc"u8, send.Bytes);
        script.Kernel.Complete(send, 2);
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_receive_without_buffers_is_taken_up_again_and_nobody_is_reset()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, Handlers.EchoAsync);
        for (int i = 0; i < 5; i++)
        {
            script.Kernel.Complete(receive, -Errno.ENOBUFS);
            receive = await script.Kernel.ExpectAsync("receive");
        }

        foreach (int errno in (int[])[Errno.EINTR, Errno.EAGAIN])
        {
            script.Kernel.Complete(receive, -errno);
            receive = await script.Kernel.ExpectAsync("receive");
        }

        script.Kernel.Deliver(receive, "still here"u8.ToArray(), CompletionFlags.None);
        receive = await script.Kernel.ExpectAsync("receive");
        Submission send = await script.Kernel.ExpectAsync("send");
        Assert.Equal("still here"u8, send.Bytes);
        script.Kernel.Complete(send, send.Bytes.Length);
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task Over_a_unix_socket_what_the_kernel_takes_is_progress_even_where_its_queue_stays_as_long()
    {
        const int Bytes = 300_000;
        var limits = new Limits { WriteStall = TimeSpan.FromSeconds(10) };
        await using Script script = await Script.StartAsync(limits);
        Submission receive = await script.ConnectAsync(
            7,
            static async connection =>
            {
                connection.Write(new byte[Bytes]);
                Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
                connection.Write(new byte[Bytes]);
                Assert.Equal(FlushOutcome.Closed, await connection.FlushAsync());
            },
            endPoint: new UnixDomainSocketEndPoint("/nowhere"));
        for (int sent = 0; sent < Bytes;)
        {
            Submission piece = await script.Kernel.ExpectAsync("send");
            Assert.InRange(piece.Bytes.Length, 1, 64 * 1024);
            script.Kernel.AdvanceClock(9_000);
            script.Kernel.Complete(piece, piece.Bytes.Length);
            sent += piece.Bytes.Length;
        }

        Submission stopped = await script.Kernel.ExpectAsync("send");
        for (int check = 0; check < 3; check++)
        {
            script.Kernel.AdvanceClock(11_000);
            await script.ConnectionsAsync();
        }

        await script.Kernel.ExpectAsync("cancel");
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        script.Kernel.Complete(stopped, -Errno.ECANCELED);
        await script.Kernel.ExpectAfterCancelsAsync("reset");
        await script.ExpectClosedAsync(7);
        Assert.Equal(0, script.Log.Count(300));
    }

    [Theory]
    [InlineData(0, 30_000, 50_000)]
    [InlineData(1_000, 60_000, 80_000)]
    public async Task A_peer_that_takes_less_than_the_rate_is_reset(int bytesPerSecond, long earliestMs, long latestMs)
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write(new byte[1_000_000]);
            Assert.Equal(FlushOutcome.Closed, await connection.FlushAsync());
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        long livedMs = 0;
        while (script.Kernel.IsQuiet && livedMs < 200_000)
        {
            script.Kernel.Taken += bytesPerSecond;
            script.Kernel.AdvanceClock(1_000);
            livedMs += 1_000;
            await script.ConnectionsAsync();
        }

        Assert.InRange(livedMs, earliestMs, latestMs);
        await ExpectResetAsync(script, receive, send);
        Assert.Equal(1, script.Reactor.Counters.Stalled);
    }

    [Theory]
    [InlineData(5)]
    [InlineData(25)]
    public async Task A_peer_that_takes_piece_by_piece_just_in_time_is_reset_all_the_same(int secondsPerPiece)
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write(new byte[1_000_000]);
            Assert.Equal(FlushOutcome.Closed, await connection.FlushAsync());
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        int livedSeconds = 0;
        while (script.Reactor.Counters.Stalled == 0 && livedSeconds < 200)
        {
            script.Kernel.Taken += 1_000;
            script.Kernel.AdvanceClock(1_000);
            await script.ConnectionsAsync();
            if (++livedSeconds % secondsPerPiece == 0 && script.Reactor.Counters.Stalled == 0)
            {
                script.Kernel.Complete(send, 1_000 * secondsPerPiece);
                send = await script.Kernel.ExpectAsync("send");
            }
        }

        Assert.InRange(livedSeconds, 60, 90);
        await ExpectResetAsync(script, receive, send);
    }

    /// <summary>A handler that awaits each of its pieces pauses for no time at all.</summary>
    [Theory]
    [InlineData(2)]
    [InlineData(5)]
    public async Task A_peer_that_takes_flush_by_flush_just_in_time_is_reset_all_the_same(int secondsPerPiece)
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            do
            {
                connection.Write(new byte[1_000 * secondsPerPiece]);
            }
            while (await connection.FlushAsync() == FlushOutcome.Sent);
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        int livedSeconds = 0;
        while (script.Reactor.Counters.Stalled == 0 && livedSeconds < 200)
        {
            script.Kernel.Taken += 1_000;
            await BeSilentAsync(script, seconds: 1);
            if (++livedSeconds % secondsPerPiece == 0 && script.Reactor.Counters.Stalled == 0)
            {
                script.Kernel.Complete(send, 1_000 * secondsPerPiece);
                send = await script.Kernel.ExpectAsync("send");
            }
        }

        Assert.InRange(livedSeconds, 60, 90);
        await ExpectResetAsync(script, receive, send);
    }

    /// <summary>What it took between the last look at one send and the first at the next is its credit all the same.</summary>
    [Fact]
    public async Task A_peer_that_was_slow_and_then_took_all_has_its_time_again()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write(new byte[1_000_000]);
            Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            connection.Write(new byte[1_000_000]);
            Assert.Equal(FlushOutcome.Closed, await connection.FlushAsync());
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        await BeSilentAsync(script, seconds: 25);
        script.Kernel.Taken += 1_000_000;
        script.Kernel.Complete(send, 1_000_000);
        send = await script.Kernel.ExpectAsync("send");
        await BeSilentAsync(script, seconds: 29);
        Assert.Equal(0, script.Reactor.Counters.Stalled);
        await BeSilentAsync(script, seconds: 10);
        Assert.Equal(1, script.Reactor.Counters.Stalled);
        await ExpectResetAsync(script, receive, send);
    }

    [Fact]
    public async Task A_peer_that_keeps_the_rate_is_waited_for()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static connection =>
        {
            connection.Write(new byte[1_000_000]);
            return Task.CompletedTask;
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        for (int second = 0; second < 480; second++)
        {
            script.Kernel.Taken += 2_060;
            script.Kernel.AdvanceClock(1_000);
            await script.ConnectionsAsync();
        }

        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, 1_000_000);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    /// <summary>The connection is aborted: both operations are called off, and the socket is reset.</summary>
    /// <summary>Its other operations were told to end, and nobody would tell this one.</summary>
    [Fact]
    public async Task A_send_that_waits_to_be_tried_again_is_not_tried_after_an_abort()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, static async connection =>
        {
            connection.Write("x"u8);
            connection.Flush();
            await connection.ReadAsync();
            connection.Abort();
        });
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(send, -Errno.ENOBUFS);
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        await script.Kernel.ExpectAsync("cancel");
        await BeSilentAsync(script, seconds: 2);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.Kernel.ExpectAfterCancelsAsync("reset");
        await script.ExpectClosedAsync(7);
    }

    private static async Task BeSilentAsync(Script script, int seconds)
    {
        for (int second = 0; second < seconds; second++)
        {
            script.Kernel.AdvanceClock(1_000);
            await script.ConnectionsAsync();
        }
    }

    private static async Task ExpectResetAsync(Script script, Submission receive, Submission send)
    {
        await script.Kernel.ExpectAsync("cancel");
        await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        script.Kernel.Complete(send, -Errno.ECANCELED);
        await script.Kernel.ExpectAfterCancelsAsync("reset");
        await script.ExpectClosedAsync(7);
    }
}
