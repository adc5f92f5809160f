using System.Runtime.InteropServices;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Writing by copy, in place and by reference; write-behind and its limits.</summary>
public class OutputTests : EngineTest
{
    [Fact]
    public async Task Every_way_to_write_keeps_the_order()
    {
        nint memory = Own(Pattern.Make(9, 3_000_000));
        try
        {
            Listener listener = await ServeAsync(async connection =>
            {
                for (int i = 0; i < 20; i++)
                {
                    connection.Write("copy|"u8);
                    WriteInPlace(connection);
                    WriteReference(connection, memory + i, 1_500 * i);
                }

                WriteReference(connection, memory, 3_000_000);
                await connection.FlushAsync();
            });
            Client client = await ConnectAsync(listener);
            for (int i = 0; i < 20; i++)
            {
                Assert.Equal("copy|place|", await client.ReceiveTextAsync(11));
                Pattern.Check(9, await client.ReceiveAsync(1_500 * i), i);
            }

            Pattern.Check(9, await client.ReceiveAsync(3_000_000));
            Assert.Empty(await client.ReceiveToEndAsync());
        }
        finally
        {
            Free(memory);
        }
    }

    [Fact]
    public async Task More_parts_than_one_message_takes_arrive_whole()
    {
        nint memory = Own(Pattern.Make(9, 5_000));
        try
        {
            Listener listener = await ServeAsync(connection =>
            {
                for (int i = 0; i < 5_000; i++)
                {
                    WriteReference(connection, memory + i, 1);
                }

                return Task.CompletedTask;
            });
            Client client = await ConnectAsync(listener);
            byte[] all = await client.ReceiveToEndAsync();
            Assert.Equal(5_000, all.Length);
            Pattern.Check(9, all);
        }
        finally
        {
            Free(memory);
        }
    }

    [Fact]
    public async Task A_slow_reader_of_a_large_answer_costs_bounded_memory()
    {
        const int Bytes = 50 * 1024 * 1024;
        long unsentMost = 0;
        int lentMost = 0;
        Listener listener = await ServeAsync(async connection =>
        {
            for (int sent = 0; sent < Bytes; sent += 64 * 1024)
            {
                connection.Write(Pattern.Make(1, 64 * 1024, sent));
                Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync(128 * 1024));
                unsentMost = Math.Max(unsentMost, connection.UnsentBytes);
                lentMost = Math.Max(lentMost, connection.Reactor.Pools.Lent);
            }
        });
        Client client = Keep(await Client.ConnectAsync(listener.EndPoint, receiveBufferBytes: 4_096));
        for (int had = 0; had < Bytes; had += 1024 * 1024)
        {
            Pattern.Check(1, await client.ReceiveAsync(1024 * 1024), had);
        }

        Assert.Empty(await client.ReceiveToEndAsync());
        Assert.InRange(unsentMost, 1, 128 * 1024);
        Assert.InRange(lentMost, 1, 16);
    }

    [Fact]
    public async Task A_sender_that_outruns_its_reader_is_held_up_and_nothing_is_lost()
    {
        const int Bytes = 24 * 1024 * 1024;
        var gate = new TaskCompletionSource();
        Connection? served = null;
        Listener listener = await ServeAsync(async connection =>
        {
            served = connection;
            await gate.Task;
            await connection.Reactor.SwitchTo();
            for (long at = 0; at < Bytes;)
            {
                Assert.Equal(ReadOutcome.Data, await connection.ReadAsync());
                Pattern.Check(5, connection.Input, at);
                at += connection.Input.Length;
                connection.Consume(connection.Input.Length);
            }

            connection.Write("all"u8);
        });
        Client client = await ConnectAsync(listener);
        Task send = client.SendAsync(Pattern.Make(5, Bytes));
        await Waiting.UntilAsync(() => served is not null, "the handler runs");
        int kept = 0;
        while (kept < Reactor.Limits.InputHighWaterBytes)
        {
            kept = await Reactor.AskAsync(() => served!.Input.Length);
        }

        Assert.InRange(kept, Reactor.Limits.InputHighWaterBytes, Reactor.Limits.InputHighWaterBytes + (1024 * 1024));
        Assert.False(send.IsCompleted);
        gate.SetResult();
        await send;
        Assert.Equal("all", await client.ReceiveTextAsync(3));
    }

    private static void WriteInPlace(Connection connection)
    {
        "place|"u8.CopyTo(connection.GetSpan(6));
        connection.Advance(6);
    }

    private static unsafe void WriteReference(Connection connection, nint memory, int count) =>
        connection.WriteReference((byte*)memory, count);

    private static unsafe nint Own(byte[] bytes)
    {
        nint memory = (nint)NativeMemory.Alloc((nuint)bytes.Length);
        Marshal.Copy(bytes, 0, memory, bytes.Length);
        return memory;
    }

    private static unsafe void Free(nint memory) => NativeMemory.Free((void*)memory);
}
