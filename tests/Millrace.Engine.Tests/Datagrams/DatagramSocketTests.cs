using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Datagrams.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>UDP on a reactor, over the kernel's sockets.</summary>
public class DatagramSocketTests : DatagramTest
{
    private const int UdpLevel = 17;
    private const int SegmentOption = 103;

    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1")]
    [InlineData("::1", "::1")]
    [InlineData("0.0.0.0", "127.0.0.1")]
    [InlineData("0.0.0.0", "127.0.0.7")]
    [InlineData("::", "::1")]
    [InlineData("::", "127.0.0.1")]
    [InlineData("::", "127.0.0.7")]
    public async Task A_datagram_is_answered_from_the_address_that_it_came_to(string bound, string asked)
    {
        await StartAsync();
        var probe = new DatagramProbe { Received = Echo };
        DatagramSocket socket = await OpenAsync(new IPEndPoint(IPAddress.Parse(bound), 0), probe);
        var endPoint = new IPEndPoint(IPAddress.Parse(asked), socket.LocalAddress.Port);
        Socket peer = Peer(endPoint);
        for (int i = 0; i < 20; i++)
        {
            // A connected socket receives from this address only.
            peer.Send(Pattern.Make(i, 100 + i));
            Pattern.Check(i, Receive(peer));
        }

        Assert.All(probe.Arrivals, arrival =>
        {
            Assert.Equal((peer.LocalEndPoint, endPoint), ((EndPoint)arrival.From.ToEndPoint(), arrival.To.ToEndPoint()));
            Assert.Equal(DatagramAddress.Of(endPoint), arrival.To);
        });
        await Waiting.UntilAsync(() => socket.Counters.Sent == 20, "the last send has completed");
        Assert.Equal((20, 20, 0, 0), (socket.Counters.Received, socket.Counters.Sent, socket.Counters.SendErrors, socket.Counters.KernelDrops));
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(1_200, 1_200)]
    [InlineData(12_000, 1_200)]
    [InlineData(12_500, 1_200)]
    [InlineData(64 * 1_000, 1_000)]
    [InlineData(65_507, 1_452)]
    [InlineData(65_507, 65_507)]
    public async Task A_send_is_cut_into_datagrams(int bytes, int segmentBytes)
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        Assert.Equal((65_507, 64), (socket.SendBytesMax, socket.SegmentsMaxTo(socket.LocalAddress)));
        byte[] content = Pattern.Make(1, bytes);
        Assert.True(await SendAsync(socket, content, segmentBytes, DatagramAddress.Of((IPEndPoint)peer.LocalEndPoint!)));
        foreach (byte[] expected in content.Chunk(segmentBytes))
        {
            Assert.Equal(expected, Receive(peer));
        }

        await Waiting.UntilAsync(() => socket.Counters.SentBytes == bytes, "all is sent");
        Assert.Equal((1, (bytes + segmentBytes - 1) / segmentBytes), (socket.Counters.Sends, socket.Counters.Sent));
    }

    [Theory]
    [InlineData(20_300, 1_000)]
    [InlineData(60_000, 1_200)]
    [InlineData(1_000, 1_000)]
    public async Task Datagrams_that_were_sent_together_arrive_together(int bytes, int segmentBytes)
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        peer.SetRawSocketOption(UdpLevel, SegmentOption, BitConverter.GetBytes(segmentBytes));
        byte[] content = Pattern.Make(1, bytes);
        for (int i = 0; i < 50; i++)
        {
            peer.Send(content);
            await Waiting.UntilAsync(() => probe.Arrivals.Count == i + 1, "the datagrams are here");
        }

        Assert.All(probe.Arrivals, arrival => Assert.Equal(segmentBytes, arrival.SegmentBytes));
        Assert.All(probe.Arrivals, arrival => Assert.Equal(content, arrival.Bytes));
        Assert.Equal(50L * bytes, socket.Counters.ReceivedBytes);
        Assert.Equal(50L * ((bytes + segmentBytes - 1) / segmentBytes), socket.Counters.Received);
    }

    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1")]
    [InlineData("::1", "::1")]
    [InlineData("::", "127.0.0.1")]
    [InlineData("::", "::1")]
    public async Task Marks_of_congestion_arrive_as_they_were_sent(string bound, string address)
    {
        await StartAsync();
        var sender = new DatagramProbe();
        var receiver = new DatagramProbe();
        DatagramSocket from = await OpenAsync(new IPEndPoint(IPAddress.Parse(bound), 0), sender);
        DatagramSocket to = await OpenAsync(new IPEndPoint(IPAddress.Parse(bound), 0), receiver);
        DatagramAddress target = DatagramAddress.Of(new IPEndPoint(IPAddress.Parse(address), to.LocalAddress.Port));
        for (int i = 0; i < 8; i++)
        {
            Assert.True(await SendAsync(from, Pattern.Make(i, 3_000), 1_000, target, default, (DatagramEcn)(i % 4)));
            await Waiting.UntilAsync(() => receiver.Arrivals.Count == i + 1, "it is here");
        }

        Assert.Equal(
            [.. Enumerable.Range(0, 8).Select(static i => (DatagramEcn)(i % 4))],
            receiver.Arrivals.Select(static arrival => arrival.Ecn));
    }

    [Fact]
    public async Task Empty_datagrams_are_counted_and_do_not_end_the_receive()
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        for (int i = 0; i < 200; i++)
        {
            peer.Send(ReadOnlySpan<byte>.Empty);
            peer.Send([(byte)i]);
        }

        await Waiting.UntilAsync(() => probe.Arrivals.Count == 200, "all are here");
        Assert.Equal([.. Enumerable.Range(0, 200)], probe.Arrivals.Select(static arrival => (int)arrival.Bytes[0]));
        Assert.Equal((400, 0), (socket.Counters.Received, socket.Counters.ReceiveErrors));
    }

    [Theory]
    [InlineData(2)]
    [InlineData(32)]
    public async Task With_few_buffers_a_burst_is_received_to_its_end(int buffers)
    {
        const int Count = 900;
        await StartAsync(Options() with { DatagramBuffers = buffers });
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        // The socket's buffer holds all of them, so none may be lost.
        using (await HeldReactor.HoldAsync(Reactor))
        {
            for (int i = 0; i < Count; i++)
            {
                peer.Send(BitConverter.GetBytes(i));
            }
        }

        await Waiting.UntilAsync(() => probe.Arrivals.Count == Count, "all are here");
        Assert.Equal([.. Enumerable.Range(0, Count)], probe.Arrivals.Select(static arrival => BitConverter.ToInt32(arrival.Bytes)));
        Assert.Equal(0, socket.Counters.KernelDrops);
    }

    [Fact]
    public async Task The_time_to_send_comes_once_after_all_that_an_iteration_received()
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        using (await HeldReactor.HoldAsync(Reactor))
        {
            for (int i = 0; i < 10; i++)
            {
                peer.Send([1]);
            }
        }

        await Waiting.UntilAsync(() => probe.Datagrams == 10 && probe.Calls.Last() == "all", "all are here");
        Assert.InRange(probe.Calls.Count(static call => call == "all"), 1, 3);
    }

    [Fact]
    public async Task More_than_may_be_in_flight_waits_for_room()
    {
        const int Total = 400;
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        DatagramAddress to = DatagramAddress.Of((IPEndPoint)peer.LocalEndPoint!);
        byte[] content = Pattern.Make(1, 60_000);
        int sent = 0;
        int mostAtOnce = 0;
        probe.Room = Fill;
        await Reactor.AskAsync(() =>
        {
            Fill(socket);
            return sent;
        });
        await Waiting.UntilAsync(() => socket.Counters.Sends == Total, "all is sent");
        Assert.True(probe.Calls.Count(static call => call == "room") >= Total / 20, "It never waited: the test proves nothing.");
        Assert.InRange(mostAtOnce, 1, 16);
        Assert.Equal((Total * 60_000L, 0), (socket.Counters.SentBytes, socket.Counters.SendErrors));

        void Fill(DatagramSocket socket)
        {
            int before = sent;
            while (sent < Total && TrySend(socket, content, 1_200, to))
            {
                sent++;
            }

            mostAtOnce = Math.Max(mostAtOnce, sent - before);
        }
    }

    [Fact]
    public async Task Small_sends_wait_for_room_too()
    {
        const int Total = 5_000;
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        DatagramAddress to = DatagramAddress.Of((IPEndPoint)peer.LocalEndPoint!);
        int sent = 0;
        probe.Room = Fill;
        await Reactor.AskAsync(() =>
        {
            Fill(socket);
            return sent;
        });
        await Waiting.UntilAsync(() => socket.Counters.Sent == Total, "all is sent");
        Assert.True(socket.Counters.RoomMissing >= Total / 256, "It never waited: the test proves nothing.");

        void Fill(DatagramSocket socket)
        {
            while (sent < Total && TrySend(socket, [1, 2, 3], 3, to))
            {
                sent++;
            }
        }
    }

    [Fact]
    public async Task What_was_sent_before_a_close_arrives()
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        DatagramAddress to = DatagramAddress.Of((IPEndPoint)peer.LocalEndPoint!);
        await Reactor.AskAsync(() =>
        {
            for (int i = 0; i < 100; i++)
            {
                Assert.True(TrySend(socket, [(byte)i], 1, to));
            }

            socket.Close();
            socket.Close();
            Assert.False(TrySend(socket, [0], 1, to));
            return true;
        });
        await probe.Closed.Within();
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal([(byte)i], Receive(peer));
        }

        Assert.Equal((100, 0), (socket.Counters.Sent, socket.Counters.SendErrors));
    }

    [Theory]
    [InlineData("received")]
    [InlineData("all")]
    [InlineData("room")]
    public async Task A_handler_may_close_within_each_call(string call)
    {
        await StartAsync();
        var probe = new DatagramProbe();
        Action<DatagramSocket> close = static socket => socket.Close();
        probe.Received = call == "received" ? (socket, _) => socket.Close() : null;
        probe.ReceivedAll = call == "all" ? close : null;
        probe.Room = call == "room" ? close : null;
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        if (call == "room")
        {
            DatagramAddress to = DatagramAddress.Of((IPEndPoint)peer.LocalEndPoint!);
            await Reactor.AskAsync(() =>
            {
                while (TrySend(socket, new byte[60_000], 1_000, to))
                {
                }

                return true;
            });
        }
        else
        {
            using (await HeldReactor.HoldAsync(Reactor))
            {
                for (int i = 0; i < 100; i++)
                {
                    peer.Send([1]);
                }
            }
        }

        await probe.Closed.Within();
        Assert.Equal("closed", probe.Calls.Last());
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.DatagramSockets.Count));
    }

    [Fact]
    public async Task A_thousand_sockets_open_and_close_while_they_are_used()
    {
        await StartAsync();
        for (int round = 0; round < 20; round++)
        {
            var all = new List<(DatagramSocket Socket, DatagramProbe Probe)>();
            for (int i = 0; i < 50; i++)
            {
                var probe = new DatagramProbe { Received = Echo };
                all.Add((await OpenAsync(probe), probe));
            }

            using var peer = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
            foreach ((DatagramSocket socket, _) in all)
            {
                peer.SendTo(Pattern.Make(1, 1_000), socket.LocalAddress.ToEndPoint());
            }

            await Task.WhenAll(all.Select(static one => CloseAsync(one.Socket, one.Probe))).Within();
        }

        Assert.Equal((0, 0), await Reactor.AskAsync(() => (Reactor.DatagramSockets.Count, Reactor.Operations.Count)));
    }

    [Fact]
    public async Task A_socket_that_never_started_closes()
    {
        await StartAsync();
        var probe = new DatagramProbe();
        using DatagramSockets sockets = DatagramSockets.Open(new IPEndPoint(IPAddress.Loopback, 0), 1);
        int descriptor = sockets.Take(0);
        DatagramSocket socket = await Reactor.AskAsync(() => new DatagramSocket(Reactor, descriptor, probe));
        await CloseAsync(socket, probe);
        Assert.Equal(["closed"], probe.Calls);
    }

    [Fact]
    public async Task A_reactor_that_stops_closes_its_sockets_at_the_deadline_and_serves_until_then()
    {
        // Sleeps: the drain deadline is real time.
        ReactorGroup group = await StartAsync();
        var probe = new DatagramProbe { Received = Echo };
        DatagramSocket socket = await OpenAsync(probe);
        Socket peer = Peer(socket.LocalAddress.ToEndPoint());
        Task stop = group.StopAsync(TimeSpan.FromMilliseconds(300));
        await Waiting.UntilAsync(() => Reactor.Shutdown.HasBegun, "it stops");
        peer.Send([7]);
        Assert.Equal([7], Receive(peer));
        await stop.Within();
        Assert.True(probe.Closed.IsCompletedSuccessfully);
    }

    private static void Echo(DatagramSocket socket, Arrival arrival) =>
        Assert.True(TrySend(socket, arrival.Bytes, arrival.SegmentBytes, arrival.From, arrival.To, arrival.Ecn));
}
