using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Who sends what the application writes away from the reactor.</summary>
public class SendingTests : TransportTest
{
    [Fact]
    public async Task What_the_pool_writes_is_sent_while_the_reactor_is_busy()
    {
        Options.WatchForStalls = false;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        using var busy = new ManualResetEventSlim();
        using var done = new ManualResetEventSlim();
        Reactor reactor = (await Factory.Reactors.StartedAsync(CancellationToken.None)).Reactors[0];
        Task holding = reactor.PostAsync(() =>
        {
            busy.Set();
            done.Wait();
        });
        await Task.Run(busy.Wait).Within();
        try
        {
            await WriteOnPoolAsync(connection, "answer".Ascii());
            Assert.Equal("answer", await peer.ReceiveAsync(6));
        }
        finally
        {
            done.Set();
            await holding.Within();
        }
    }

    /// <summary>The socket has no room for it, so that the reactor sends what is left, and the next bytes wait behind that.</summary>
    [Fact]
    public async Task What_the_pool_writes_faster_than_the_peer_reads_comes_whole_and_in_order()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync(receiveBufferBytes: 4096);
        byte[] all = new byte[8 * 1024 * 1024];
        new Random(7).NextBytes(all);
        Task writing = Task.Run(async () =>
        {
            for (int at = 0; at < all.Length;)
            {
                int count = Math.Min(all.Length - at, 1 + (at * 7 % 150_000));
                await WriteOnPoolAsync(connection, all.AsMemory(at, count));
                at += count;
            }

            await connection.Transport.Output.CompleteAsync();
        });
        Assert.Equal(all, await peer.ReceiveToEndAsync());
        await writing.Within();
    }

    [Fact]
    public async Task What_reactor_and_pool_write_in_turns_comes_in_order()
    {
        const int Turns = 2_000;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task writing = Task.Run(async () =>
        {
            for (int i = 0; i < Turns; i++)
            {
                await Task.Yield();
                await WriteOnPoolAsync(connection, BitConverter.GetBytes(2 * i));
                await ((IReactorFeature)connection).Reactor.SwitchTo();
                await connection.Transport.Output.WriteAsync(BitConverter.GetBytes((2 * i) + 1));
                await Task.Yield();
            }

            await connection.Transport.Output.CompleteAsync();
        });
        byte[] received = await peer.ReceiveToEndAsync();
        Assert.Equal(Enumerable.Range(0, 2 * Turns), received.Chunk(4).Select(static chunk => BitConverter.ToInt32(chunk)));
        await writing.Within();
    }

    private static Task WriteOnPoolAsync(ConnectionContext connection, ReadOnlyMemory<byte> bytes) => Task.Run(async () =>
    {
        Assert.Null(Reactor.Current);
        await connection.Transport.Output.WriteAsync(bytes);
    });
}
