using System.Diagnostics;
using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Datagrams.Kit;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>More datagrams than a reactor can handle: connections beside them are served, and all datagrams are accounted for.</summary>
public class DatagramFloodTests : DatagramTest
{
    [Fact]
    public async Task A_flood_does_not_silence_a_connection_and_every_datagram_is_counted()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        var probe = new DatagramProbe { Keeps = false, Received = static (_, _) => Spin(microseconds: 100) };
        DatagramSocket socket = await OpenAsync(probe);
        Client client = await ConnectAsync(listener);
        Socket[] peers = [.. Enumerable.Range(0, 2).Select(_ => Peer(socket.LocalAddress.ToEndPoint()))];
        using var stop = new CancellationTokenSource();
        Task<long>[] floods = [.. peers.Select(peer => Task.Factory.StartNew(() => Flood(peer, stop.Token), TaskCreationOptions.LongRunning))];
        await Waiting.UntilAsync(() => socket.Counters.Postponed > 0, "there is more than an iteration has time for");
        for (int i = 0; i < 100; i++)
        {
            await client.SendAsync("ping");
            Assert.Equal("ping", await client.ReceiveTextAsync(4).Within());
        }

        await stop.CancelAsync();
        long sent = (await Task.WhenAll(floods).Within()).Sum();

        // The kernel tells of drops with the next datagram.
        await Waiting.UntilAsync(
            () =>
            {
                sent += peers[0].Send([1]);
                return socket.Counters.Received + socket.Counters.KernelDrops >= sent - 50;
            },
            "the queue is empty");
        await Waiting.UntilAsync(() => socket.Counters.Received + socket.Counters.KernelDrops == sent, "all is accounted for");
        Assert.True(socket.Counters.KernelDrops > 0, "Nothing was dropped: the test proves nothing.");
    }

    private static long Flood(Socket peer, CancellationToken stop)
    {
        byte[] bytes = new byte[1_200];
        long sent = 0;
        while (!stop.IsCancellationRequested)
        {
            sent += peer.Send(bytes, SocketFlags.None, out SocketError error) > 0 && error == SocketError.Success ? 1 : 0;
        }

        return sent;
    }

    private static void Spin(int microseconds)
    {
        long end = Stopwatch.GetTimestamp() + (microseconds * Stopwatch.Frequency / 1_000_000);
        while (Stopwatch.GetTimestamp() < end)
        {
        }
    }
}
