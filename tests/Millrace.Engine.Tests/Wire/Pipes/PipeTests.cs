using System.Buffers;
using System.IO.Pipelines;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Pipes;

/// <summary>The contract of PipeReader and PipeWriter, over a connection.</summary>
public class PipeTests : EngineTest
{
    [Fact]
    public async Task Consumed_goes_examined_stays_and_the_next_read_brings_more()
    {
        var examined = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Talk(async (input, _) =>
        {
            Assert.False(input.TryRead(out ReadResult _));
            ReadResult read = await input.ReadAtLeastAsync(4);
            Assert.Equal("abcd"u8.ToArray(), read.Buffer.ToArray());
            input.AdvanceTo(read.Buffer.GetPosition(1), read.Buffer.GetPosition(2));

            Assert.True(input.TryRead(out read));
            Assert.Equal("bcd"u8.ToArray(), read.Buffer.ToArray());
            input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
            Assert.False(input.TryRead(out ReadResult _));
            examined.SetResult();

            read = await input.ReadAsync();
            Assert.Equal("bcd"u8.ToArray(), read.Buffer.ToArray());
            Assert.True(read.IsCompleted);
            input.AdvanceTo(read.Buffer.End);
            Assert.True(input.TryRead(out read));
            Assert.True(read.IsCompleted && read.Buffer.IsEmpty);
            input.AdvanceTo(read.Buffer.End);
        }, async client =>
        {
            await client.Send("abcd"u8.ToArray());
            await examined.Task.WaitAsync(Patience);
            client.Finish();
        });
    }

    [Fact]
    public async Task Misuse_of_the_reader_is_refused()
    {
        await Talk(async (input, _) =>
        {
            Assert.Throws<InvalidOperationException>(() => input.AdvanceTo(default));
            ReadResult read = await input.ReadAsync();
            Assert.Throws<InvalidOperationException>(() => input.TryRead(out ReadResult _));
            Assert.Throws<InvalidOperationException>(() => { ValueTask<ReadResult> unused = input.ReadAsync(); });
            Assert.Throws<InvalidOperationException>(() => input.AdvanceTo(read.Buffer.End, read.Buffer.Start));
            input.AdvanceTo(read.Buffer.End);
            input.Complete();
            input.Complete();
            Assert.Throws<InvalidOperationException>(() => input.TryRead(out ReadResult _));
        }, static client => client.Send("abcd"u8.ToArray()));
    }

    [Fact]
    public async Task Misuse_of_the_writer_is_refused()
    {
        await Talk(async (_, output) =>
        {
            await output.WriteAsync("x"u8.ToArray());
            output.Complete();
            Assert.Throws<InvalidOperationException>(() => output.GetMemory());
            Assert.Throws<InvalidOperationException>(() => { ValueTask<FlushResult> unused = output.FlushAsync(); });
        }, async client => Assert.Equal("x"u8.ToArray(), await client.ReceiveToEnd()));
    }

    [Fact]
    public async Task Memory_may_be_filled_over_turns_in_which_earlier_bytes_go_out()
    {
        const int Rounds = 20;
        byte[] expected = [.. Enumerable.Range(0, Rounds).SelectMany(static i => Enumerable.Repeat((byte)i, 1000).Prepend((byte)255))];
        await Talk(async (_, output) =>
        {
            for (int i = 0; i < Rounds; i++)
            {
                await output.WriteAsync(new byte[] { 255 });
                Memory<byte> memory = output.GetMemory(1000);
                memory.Span[..500].Fill((byte)i);
                await Reactor.Current!.Delay(TimeSpan.FromMilliseconds(20));
                memory.Span[500..1000].Fill((byte)i);
                output.Advance(1000);
                await output.FlushAsync();
            }
        }, async client => Assert.Equal(expected, await client.ReceiveToEnd()));
    }

    [Fact]
    public async Task Memory_outlives_the_connection_until_it_is_filled()
    {
        var reset = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Talk(async (_, output) =>
        {
            Reactor home = Reactor.Current!;
            await output.WriteAsync("x"u8.ToArray());
            Memory<byte> memory = output.GetMemory(1_000_000);
            await reset.Task.WaitAsync(Patience);
            await home.SwitchTo();
            await home.Delay(TimeSpan.FromMilliseconds(100));
            memory.Span.Fill(1);
            output.Advance(memory.Length);
            Assert.True((await output.FlushAsync()).IsCompleted);
        }, async client =>
        {
            Assert.Equal("x"u8.ToArray(), await client.Receive(1));
            client.Reset();
            reset.SetResult();
        });
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_pending_read_can_be_cancelled(bool fromAnotherThread)
    {
        var waits = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Talk(async (input, _) =>
        {
            input.CancelPendingRead();
            ReadResult read = await input.ReadAsync();
            Assert.True(read.IsCanceled);
            input.AdvanceTo(read.Buffer.Start);

            ValueTask<ReadResult> pending = input.ReadAsync();
            Assert.False(pending.IsCompleted);
            Cancel(input.CancelPendingRead, fromAnotherThread);
            read = await pending;
            Assert.True(read.IsCanceled && read.Buffer.IsEmpty && !read.IsCompleted);
            input.AdvanceTo(read.Buffer.Start);

            pending = input.ReadAsync();
            Assert.False(pending.IsCompleted);
            waits.SetResult();
            read = await pending;
            Assert.False(read.IsCanceled);
            Assert.True(read.IsCompleted);
        }, async client =>
        {
            await waits.Task.WaitAsync(Patience);
            client.Finish();
        });
    }

    [Fact]
    public async Task A_token_cancels_its_own_read_only()
    {
        var cancelled = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Talk(async (input, _) =>
        {
            using var early = new CancellationTokenSource();
            Task<ReadResult> pending = input.ReadAsync(early.Token).AsTask();
            Cancel(early.Cancel, fromAnotherThread: true);
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => pending);
            Assert.Equal(Reactor.Current, Reactor.Current ?? throw new InvalidOperationException("Not at home."));

            ValueTask<ReadResult> next = input.ReadAsync();
            cancelled.SetResult();
            ReadResult read = await next;
            Assert.False(read.IsCanceled);
            Assert.True(read.IsCompleted);
        }, async client =>
        {
            await cancelled.Task.WaitAsync(Patience);
            client.Finish();
        });
    }

    [Fact]
    public async Task A_reset_is_an_exception_also_behind_unread_bytes()
    {
        var seen = new TaskCompletionSource<Exception?>();
        var gone = new TaskCompletionSource();
        TestServer server = await Serve(async connection =>
        {
            PipeReader input = connection.AsDuplexPipe().Input;
            ReadResult read = await input.ReadAsync();
            input.AdvanceTo(read.Buffer.Start);
            await gone.Task;
            await connection.Reactor.SwitchTo();
            seen.SetResult(await Record.ExceptionAsync(async () =>
            {
                read = await input.ReadAsync();
                Assert.False(read.IsCompleted, "A cut stream looks whole.");
                input.AdvanceTo(read.Buffer.End);
                await input.ReadAsync();
            }));
        });
        TestClient client = await server.Connect();
        await client.Send("half a req"u8.ToArray());
        await Eventually(() => server.Reactor.Counters.Completions >= 2);
        long before = server.Reactor.Counters.Completions;
        client.Reset();
        await Eventually(() => server.Reactor.Counters.Completions > before);
        gone.SetResult();
        Assert.IsType<IOException>(await seen.Task.WaitAsync(Patience));
    }

    [Fact]
    public async Task Held_input_stays_put_while_more_arrives()
    {
        var more = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Talk(async (input, _) =>
        {
            Reactor home = Reactor.Current!;
            ReadResult read = await input.ReadAtLeastAsync(1_000);
            ReadOnlySequence<byte> held = read.Buffer;
            more.SetResult();
            for (int i = 0; i < 40; i++)
            {
                await Task.Delay(2);
                await home.SwitchTo();
                Pattern.Check(held.FirstSpan, 1);
            }

            input.AdvanceTo(held.Start, held.End);
            read = await input.ReadAtLeastAsync(200_000);
            Pattern.Check(read.Buffer.FirstSpan, 1);
            input.AdvanceTo(read.Buffer.End);
        }, async client =>
        {
            await client.Send(Pattern.Bytes(1, 1_000));
            await more.Task.WaitAsync(Patience);
            for (int position = 1_000; position < 200_000; position += 1_990)
            {
                await client.Send(Pattern.Bytes(1, 1_990, position));
            }
        });
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_flush_beyond_the_limit_waits_and_can_be_cancelled(bool fromAnotherThread)
    {
        var cancelled = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await Talk(async (_, output) =>
        {
            output.Write(new byte[1_000]);
            Assert.Equal(1_000, output.UnflushedBytes);
            ValueTask<FlushResult> flush = output.FlushAsync();
            Assert.True(flush.IsCompleted);
            await flush;
            Assert.Equal(0, output.UnflushedBytes);

            output.Write(new byte[16 * 1024 * 1024]);
            flush = output.FlushAsync();
            Assert.False(flush.IsCompleted);
            Cancel(output.CancelPendingFlush, fromAnotherThread);
            Assert.True((await flush).IsCanceled);
            cancelled.SetResult();
            Assert.False((await output.FlushAsync()).IsCanceled);
        }, async client =>
        {
            await cancelled.Task.WaitAsync(Patience);
            Assert.Equal((16 * 1024 * 1024) + 1_000, (await client.ReceiveToEnd()).Length);
        });
    }

    [Fact]
    public async Task Cancelling_through_the_pipes_of_an_earlier_tenant_touches_nothing()
    {
        IDuplexPipe? kept = null;
        TestServer server = await Serve(async connection =>
        {
            if (kept is null)
            {
                kept = connection.AsDuplexPipe();
                return;
            }

            Assert.Equal(ReadOutcome.Data, await connection.ReadAsync());
            Assert.Equal(1, connection.Input.Length);
            connection.Write(connection.Input);
            connection.Consume(1);
            connection.Write(new byte[16 * 1024 * 1024]);
            Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            Assert.Equal(0, connection.UnsentBytes);
        });
        TestClient first = await server.Connect();
        await Eventually(() => kept is not null);
        first.Dispose();
        await server.Emptied();
        TestClient client = await server.Connect();
        await Eventually(() => server.Connections == 1);
        kept!.Input.CancelPendingRead();
        Assert.True(await server.AtHome(static () => true));
        await client.Send(new byte[1]);
        await client.Receive(1_000);
        kept.Output.CancelPendingFlush();
        Assert.True(await server.AtHome(static () => true));
        Assert.Equal((16 * 1024 * 1024) + 1, 1_000 + (await client.ReceiveToEnd()).Length);
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task Streams_over_the_pipes_carry_megabytes_both_ways()
    {
        const int Bytes = 20_000_000;
        TestServer server = await Serve(static async connection =>
        {
            IDuplexPipe pipe = connection.AsDuplexPipe();
            await pipe.Input.AsStream(leaveOpen: true).CopyToAsync(pipe.Output.AsStream(leaveOpen: true));
        });
        TestClient client = await server.Connect();
        Task<byte[]> back = client.ReceiveToEnd();
        await client.Send(Pattern.Bytes(5, Bytes));
        client.Finish();
        byte[] response = await back;
        Assert.Equal(Bytes, response.Length);
        Pattern.Check(response, 5);
        Assert.Empty(Log.Failures);
    }

    private static void Cancel(Action cancel, bool fromAnotherThread)
    {
        if (fromAnotherThread)
        {
            ThreadPool.QueueUserWorkItem(static cancel => cancel(), cancel, preferLocal: false);
        }
        else
        {
            Reactor.Current!.Post(static cancel => ((Action)cancel!)(), cancel);
        }
    }

    private async Task Talk(Func<PipeReader, PipeWriter, Task> serve, Func<TestClient, Task> talk)
    {
        var served = new TaskCompletionSource<Exception?>(TaskCreationOptions.RunContinuationsAsynchronously);
        TestServer server = await Serve(async connection =>
        {
            IDuplexPipe pipe = connection.AsDuplexPipe();
            served.SetResult(await Record.ExceptionAsync(() => serve(pipe.Input, pipe.Output)));
        });
        TestClient client = await server.Connect();
        Task talking = talk(client);
        // What fails first says why: the client may wait for a handler that has failed.
        if (await Task.WhenAny(talking, served.Task) == served.Task)
        {
            Assert.Null(await served.Task);
        }

        await talking;
        Assert.Null(await served.Task.WaitAsync(Patience));
    }
}
