using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Who sends what the application writes away from the reactor.</summary>
public class SendingTests : TransportTest
{
    [Fact]
    public async Task What_the_pool_writes_is_sent_while_the_reactor_is_busy()
    {
        Options.WatchForStalls = false;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Reactor reactor = (await Factory.Reactors.StartedAsync(CancellationToken.None)).Reactors[0];
        using HeldReactor held = await HeldReactor.HoldAsync(reactor);
        await WriteOnPoolAsync(connection, "answer".Ascii());
        Assert.Equal("answer", await peer.ReceiveAsync(6));
    }

    /// <summary>The socket has no room for it, so that the reactor sends what is left, and the next bytes wait after that.</summary>
    [Theory]
    [InlineData(TransportScheduling.Inline, false)]
    [InlineData(TransportScheduling.Inline, true)]
    [InlineData(TransportScheduling.ThreadPool, false)]
    [InlineData(TransportScheduling.ThreadPool, true)]
    public async Task What_the_pool_writes_faster_than_the_peer_reads_comes_whole_and_in_order(TransportScheduling scheduling, bool isUnix)
    {
        using var folder = new TemporaryFolder();
        Options.Scheduling = scheduling;
        EndPoint? endPoint = isUnix ? new UnixDomainSocketEndPoint(folder.File("socket")) : null;
        (Peer peer, ConnectionContext connection) = await PairAsync(endPoint, receiveBufferBytes: 4096);
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
        const int Iterations = 2_000;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Task writing = Task.Run(async () =>
        {
            for (int i = 0; i < Iterations; i++)
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
        Assert.Equal(Enumerable.Range(0, 2 * Iterations), received.Chunk(4).Select(static chunk => BitConverter.ToInt32(chunk)));
        await writing.Within();
    }

    /// <summary>
    /// Our pump ends on the pool there as well, with its last send: it may be faster than the end that was asked for, which the reactor is
    /// told of.
    /// </summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_end_on_the_pool_is_a_reset_also_right_after_the_last_bytes(bool isFailedResponse)
    {
        IConnectionListener listener = await BindAsync();
        Reactor reactor = (await Factory.Reactors.StartedAsync(CancellationToken.None)).Reactors[0];
        for (int i = 0; i < 300; i++)
        {
            Peer peer = await ConnectAsync(listener.EndPoint);
            ConnectionContext connection = await AcceptAsync(listener);
            peer.Socket.Shutdown(SocketShutdown.Send);
            await connection.ConnectionClosed.FiredAsync();

            using var busy = new ManualResetEventSlim();
            Task holding = reactor.PostAsync(() =>
            {
                busy.Set();
                Thread.Sleep(1);
            });
            await Task.Run(async () =>
            {
                busy.Wait();
                await connection.Transport.Output.WriteAsync("last words".Ascii());
                if (isFailedResponse)
                {
                    await connection.Transport.Output.CompleteAsync(new IOException("no more of it"));
                }
                else
                {
                    connection.Abort(new ConnectionAbortedException("enough"));
                }

                await connection.DisposeAsync();
            }).Within();
            await holding.Within();
            await peer.ExpectResetAsync();
        }

        if (isFailedResponse)
        {
            // What each connection can cause is logged a few times, and then counted.
            Assert.InRange(Logs.Names.Count(static name => name == "Unexpected"), 1, 299);
            Logs.Entries.Clear();
        }
    }

    [Fact]
    public async Task Who_stops_while_the_pool_writes_ends()
    {
        IConnectionListener listener = await BindAsync();
        var writing = new List<Task>();
        var reading = new List<Task>();
        for (int i = 0; i < 8; i++)
        {
            Peer peer = await ConnectAsync(listener.EndPoint);
            ConnectionContext connection = await AcceptAsync(listener);
            reading.Add(Assert.ThrowsAnyAsync<SocketException>(() => DiscardAsync(peer)));
            writing.Add(Task.Run(async () =>
            {
                while (!(await connection.Transport.Output.WriteAsync(new byte[10_000])).IsCompleted)
                {
                    await Task.Yield();
                }

                await connection.DisposeAsync();
            }));
        }

        await Task.Delay(100);
        await listener.UnbindAsync().AsTask().Within();
        await Factory.DisposeAsync().AsTask().Within();
        await Task.WhenAll([.. writing, .. reading]).Within();
    }

    private static async Task DiscardAsync(Peer peer)
    {
        byte[] piece = new byte[64 * 1024];
        while (await peer.Socket.ReceiveAsync(piece.AsMemory()).Within() > 0)
        {
        }
    }

    private static Task WriteOnPoolAsync(ConnectionContext connection, ReadOnlyMemory<byte> bytes) => Task.Run(async () =>
    {
        Assert.Null(Reactor.Current);
        await connection.Transport.Output.WriteAsync(bytes);
    });
}
