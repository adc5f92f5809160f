using System.Runtime.InteropServices;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Conversations;

public class OutputTests : EngineTest
{
    [Fact]
    public async Task A_large_answer_to_a_slow_reader_takes_bounded_memory()
    {
        const int Bytes = 50 * 1024 * 1024;
        long unsentMost = 0;
        int lentMost = 0;
        TestServer server = await Serve(async connection =>
        {
            for (long position = 0; position < Bytes;)
            {
                Span<byte> room = connection.GetSpan(64 * 1024);
                int part = (int)Math.Min(room.Length, Bytes - position);
                Pattern.Fill(room[..part], 1, position);
                connection.Advance(part);
                position += part;
                if (await connection.FlushAsync(256 * 1024) == FlushOutcome.Closed)
                {
                    return;
                }

                unsentMost = Math.Max(unsentMost, connection.UnsentBytes);
                lentMost = Math.Max(lentMost, connection.Reactor.Pools.Lent);
            }
        });
        TestClient client = await server.Connect(receiveBufferBytes: 16 * 1024);
        byte[] buffer = new byte[100_000];
        long received = 0;
        int count;
        while ((count = await client.Receive(buffer)) > 0)
        {
            Pattern.Check(buffer.AsSpan(0, count), 1, received);
            received += count;
        }

        Assert.Equal(Bytes, received);
        Assert.InRange(unsentMost, 0, 256 * 1024);
        Assert.InRange(lentMost, 1, 16);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(1_023)]
    [InlineData(1_025)]
    [InlineData(5_000)]
    public async Task References_and_copies_go_out_in_order(int pairs)
    {
        TestServer server = await Serve(async connection =>
        {
            GCHandle pinned = GCHandle.Alloc(Pattern.Bytes(2, pairs * 20), GCHandleType.Pinned);
            WritePairs(connection, pinned.AddrOfPinnedObject(), pairs);
            await connection.FlushAsync();
            pinned.Free();
        });
        TestClient client = await server.Connect();
        byte[] response = await client.ReceiveToEnd();
        Assert.Equal(pairs * 20, response.Length);
        Pattern.Check(response, 2);
    }

    [Fact]
    public async Task A_reference_of_many_megabytes_arrives_whole()
    {
        byte[] memory = GC.AllocateUninitializedArray<byte>(20_000_000, pinned: true);
        Pattern.Fill(memory, 3);
        TestServer server = await Serve(async connection =>
        {
            Reference(connection, Marshal.UnsafeAddrOfPinnedArrayElement(memory, 0), memory.Length);
            Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            Assert.Equal(0, connection.UnsentBytes);
        });
        TestClient client = await server.Connect();
        Assert.Equal(memory, await client.ReceiveToEnd());
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_flush_within_its_limit_does_not_wait()
    {
        var seen = new TaskCompletionSource<(bool Within, bool Beyond)>();
        TestServer server = await Serve(async connection =>
        {
            connection.Write(new byte[1_000]);
            bool within = connection.FlushAsync(1_000).IsCompleted;
            connection.Write(new byte[1]);
            ValueTask<FlushOutcome> beyond = connection.FlushAsync(1_000);
            seen.SetResult((within, beyond.IsCompleted));
            await beyond;
        });
        TestClient client = await server.Connect();
        Assert.Equal((true, false), await seen.Task.WaitAsync(Patience));
        Assert.Equal(1_001, (await client.ReceiveToEnd()).Length);
    }

    [Fact]
    public async Task What_is_flushed_behind_a_send_goes_out_after_it()
    {
        TestServer server = await Serve(async connection =>
        {
            connection.Write(Pattern.Bytes(6, 5_000_000));
            connection.Flush();
            await connection.ReadAsync();
            connection.Write(Pattern.Bytes(6, 100, 5_000_000));
            connection.Flush();
            connection.Write(Pattern.Bytes(6, 100, 5_000_100));
            Assert.Equal(FlushOutcome.Sent, await connection.FlushAsync());
            await connection.ReadAsync();
        });
        TestClient client = await server.Connect();
        byte[] start = await client.Receive(10);
        await client.Send(new byte[1]);
        Pattern.Check(start, 6);
        Pattern.Check(await client.Receive(5_000_190), 6, 10);
        Assert.Empty(Log.Failures);
    }

    [Fact]
    public async Task A_flush_waits_for_what_was_written_before_it_only()
    {
        var flushed = new TaskCompletionSource<FlushOutcome>();
        TestServer server = await Serve(async connection =>
        {
            connection.Write(new byte[8_000_000]);
            Task<FlushOutcome> flush = connection.FlushAsync().AsTask();
            await connection.ReadAsync();
            Assert.False(flush.IsCompleted);
            connection.Write("later"u8);
            flushed.SetResult(await flush);
            await connection.ReadAsync();
        });
        TestClient client = await server.Connect();
        await client.Receive(10);
        await client.Send(new byte[1]);
        await client.Receive(8_000_000 - 10);
        Assert.Equal(FlushOutcome.Sent, await flushed.Task.WaitAsync(Patience));
        client.Finish();
        Assert.Equal("later"u8.ToArray(), await client.ReceiveToEnd());
    }

    [Fact]
    public async Task Room_that_was_asked_for_and_not_used_is_not_sent()
    {
        TestServer server = await Serve(connection =>
        {
            connection.GetSpan(100)[..3].Fill(1);
            connection.Advance(3);
            connection.GetSpan(200_000).Fill(9);
            connection.Advance(0);
            connection.GetSpan()[..2].Fill(2);
            connection.Advance(2);
            return Task.CompletedTask;
        });
        TestClient client = await server.Connect();
        Assert.Equal([1, 1, 1, 2, 2], await client.ReceiveToEnd());
    }

    private static unsafe void Reference(Connection connection, nint address, int count) =>
        connection.WriteReference((byte*)address, count);

    private static void WritePairs(Connection connection, nint memory, int pairs)
    {
        for (int i = 0; i < pairs; i++)
        {
            Reference(connection, memory + (i * 20), 10);
            connection.Write(Pattern.Bytes(2, 10, (i * 20) + 10));
        }
    }
}
