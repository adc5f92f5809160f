using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>On which thread the application's code runs, and what an iteration makes of what it does.</summary>
public class SchedulingTests : TransportTest
{
    [Theory]
    [InlineData(TransportScheduling.Inline, "there")]
    [InlineData(TransportScheduling.Inline, "later")]
    [InlineData(TransportScheduling.ThreadPool, "there")]
    [InlineData(TransportScheduling.ThreadPool, "later")]
    public async Task A_read_ends_where_it_should_whether_bytes_are_there_or_come_later(TransportScheduling scheduling, string bytes)
    {
        Options.Scheduling = scheduling;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        PipeReader input = connection.Transport.Input;
        for (int i = 0; i < 50; i++)
        {
            if (bytes == "there")
            {
                await peer.SendAsync("x");
                await Waiting.UntilAsync(() => IsThere(input), "the byte is there");
            }

            Task<Reactor?> read = Task.Run(async () =>
            {
                ReadResult result = await input.ReadAsync();
                Reactor? reactor = Reactor.Current;
                input.AdvanceTo(result.Buffer.End);
                return reactor;
            });
            if (bytes == "later")
            {
                await peer.SendAsync("x");
            }

            Assert.Equal(scheduling == TransportScheduling.Inline, await read.Within() is not null);
        }
    }

    [Fact]
    public async Task An_application_that_left_returns_to_its_reactor_with_its_next_read_and_with_a_flush_that_waited()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        var places = new List<bool>();
        Task application = Task.Run(async () =>
        {
            TakeOne(connection, await connection.Transport.Input.ReadAsync());
            places.Add(Reactor.Current is not null);
            await Task.Yield();
            await Task.Delay(1);
            places.Add(Reactor.Current is not null);
            await connection.Transport.Output.WriteAsync(new byte[4 * 1024 * 1024]);
            places.Add(Reactor.Current is not null);
            await Task.Delay(1);
            TakeOne(connection, await connection.Transport.Input.ReadAsync());
            places.Add(Reactor.Current is not null);
        });
        await peer.SendAsync("xx");
        await peer.ReceiveAsync(4 * 1024 * 1024);
        await application.Within();
        Assert.Equal([true, false, true, true], places);
    }

    [Fact]
    public async Task An_ambient_value_of_the_application_does_not_leak_to_the_reactor()
    {
        var ambient = new AsyncLocal<string?>();
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task application = Task.Run(async () =>
        {
            ambient.Value = "mine";
            TakeOne(connection, await connection.Transport.Input.ReadAsync());
            Assert.NotNull(Reactor.Current);
            Assert.Equal("mine", ambient.Value);
        });
        await peer.SendAsync("x");
        await application.Within();
        Assert.Null(await AskAsync(() => ambient.Value));
    }

    [Fact]
    public async Task Two_flushes_of_one_iteration_are_one_send()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        // One by one, so that none can hide after a send that is under way: an exchange is a receive and a send.
        Task application = Task.Run(async () =>
        {
            for (int i = 0; i < 100; i++)
            {
                TakeOne(connection, await connection.Transport.Input.ReadAsync());
                await connection.Transport.Output.WriteAsync("a"u8.ToArray());
                await connection.Transport.Output.WriteAsync("b"u8.ToArray());
            }
        });
        long before = await AskAsync(() => Reactor.Current!.Counters.Completions);
        for (int i = 0; i < 100; i++)
        {
            await peer.SendAsync("x");
            Assert.Equal("ab", await peer.ReceiveAsync(2));
        }

        await application.Within();
        long completions = await AskAsync(() => Reactor.Current!.Counters.Completions) - before;
        Assert.InRange(completions, 190, 210);
    }

    [Fact]
    public async Task Writers_on_any_thread_and_a_reader_work_at_the_same_time()
    {
        const int Messages = 20_000;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task reading = Task.Run(async () =>
        {
            for (long left = 2L * Messages; left > 0;)
            {
                ReadResult result = await connection.Transport.Input.ReadAsync();
                left -= result.Buffer.Length;
                connection.Transport.Input.AdvanceTo(result.Buffer.End);
            }
        });
        Task broadcast = Task.Run(async () =>
        {
            for (int i = 0; i < Messages; i++)
            {
                BitConverter.TryWriteBytes(connection.Transport.Output.GetSpan(4), i);
                connection.Transport.Output.Advance(4);
                await connection.Transport.Output.FlushAsync().AsTask().ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            }
        });
        Task sending = peer.SendAsync(new byte[2 * Messages]);
        Task<byte[]> receiving = peer.ReceiveToEndAsync();
        await Task.WhenAll(reading, broadcast, sending).Within();
        await connection.Transport.Output.CompleteAsync();
        byte[] received = await receiving;
        Assert.Equal(Enumerable.Range(0, Messages), received.Chunk(4).Select(static chunk => BitConverter.ToInt32(chunk)));
    }

    [Fact]
    public async Task An_exchange_allocates_nothing_on_the_reactor()
    {
        const int Exchanges = 2_000;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        _ = Task.Run(async () =>
        {
            byte[] response = new byte[10_000];
            while (true)
            {
                ReadResult result = await connection.Transport.Input.ReadAsync();
                connection.Transport.Input.AdvanceTo(result.Buffer.End);
                if (result.IsCompleted)
                {
                    return;
                }

                await connection.Transport.Output.WriteAsync(response);
            }
        });
        byte[] one = "x".Ascii();
        byte[] response = new byte[10_000];
        await ReplaceAsync();
        long before = await AskAsync(GC.GetAllocatedBytesForCurrentThread);
        await ReplaceAsync();
        long allocated = await AskAsync(GC.GetAllocatedBytesForCurrentThread) - before;
        // The questions themselves cost some; one object for each exchange would be 48,000 bytes at least.
        Assert.InRange(allocated, 0, 12 * Exchanges);

        async Task ReplaceAsync()
        {
            for (int i = 0; i < Exchanges; i++)
            {
                await peer.Socket.SendAsync(one.AsMemory());
                for (int had = 0; had < response.Length;)
                {
                    had += await peer.Socket.ReceiveAsync(response.AsMemory(had));
                }
            }
        }
    }

    private static bool IsThere(PipeReader input)
    {
        if (!input.TryRead(out ReadResult result))
        {
            return false;
        }

        // Not examined: the next read finds it again.
        input.AdvanceTo(result.Buffer.Start, result.Buffer.Start);
        return true;
    }

    /// <summary>The reads are awaited where they are looked at: a task between, completed by then, would go on where it is awaited.</summary>
    private static void TakeOne(ConnectionContext connection, ReadResult result) =>
        connection.Transport.Input.AdvanceTo(result.Buffer.GetPosition(1));

    private async Task<T> AskAsync<T>(Func<T> question)
    {
        ReactorGroup group = await Factory.Reactors.StartedAsync(CancellationToken.None);
        var response = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
        group.Reactors[0].Post(_ => response.SetResult(question()), null);
        return await response.Task.Within();
    }
}
