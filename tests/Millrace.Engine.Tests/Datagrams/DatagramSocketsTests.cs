using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Datagrams.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>How an address is bound for several reactors, and which of them gets what arrives there.</summary>
public class DatagramSocketsTests : DatagramTest
{
    private static readonly IPEndPoint Any = new(IPAddress.Loopback, 0);

    [Theory]
    [InlineData(2, "127.0.0.1")]
    [InlineData(3, "127.0.0.1")]
    [InlineData(4, "::1")]
    [InlineData(7, "::")]
    public async Task A_datagram_reaches_the_reactor_that_its_connection_id_names(int reactors, string address)
    {
        await StartAsync(Options() with { Reactors = reactors });
        (DatagramProbe[] probes, int port, uint[] key) = await ServeAsync(new IPEndPoint(IPAddress.Parse(address), 0), new DatagramSettings());
        Socket peer = Peer(new IPEndPoint(address == "::" ? IPAddress.IPv6Loopback : IPAddress.Parse(address), port));
        var random = new Random(reactors);
        for (int i = 0; i < 64; i++)
        {
            byte[] id = new byte[8];
            random.NextBytes(id);
            byte[][] datagrams =
            [
                [0x40, .. id, 9, 9, 9, 9, 9, 9],
                [0xC0, 0, 0, 0, 1, 8, .. id, 9],
                [0x40, .. id],
                // Too short for an id: the first reactor drops it.
                [0x40, .. id.AsSpan(1)],
                [0xC0, 0, 0, 0, 1, 8],
            ];
            foreach (byte[] datagram in datagrams)
            {
                peer.Send(datagram);
                DatagramProbe expected = probes[IndexOf(datagram, key, reactors)];
                await Waiting.UntilAsync(() => expected.Arrivals.TryDequeue(out Arrival? got) && got.Bytes.SequenceEqual(datagram), "it is here");
            }
        }

        Assert.All(probes, probe => Assert.Empty(probe.Arrivals));
    }

    [Fact]
    public void Each_address_has_a_secret_of_its_own()
    {
        using DatagramSockets one = DatagramSockets.Open(Any, 2);
        using DatagramSockets other = DatagramSockets.Open(Any, 2);
        Assert.Equal(DatagramSteering.KeyWords, one.SteeringKey.Distinct().Count());
        Assert.Empty(one.SteeringKey.Intersect(other.SteeringKey));
    }

    [Fact]
    public async Task Without_the_program_all_datagrams_of_a_client_reach_one_reactor()
    {
        await StartAsync(Options() with { Reactors = 4 });
        (DatagramProbe[] probes, int port, _) = await ServeAsync(Any, new DatagramSettings { IsSteered = false });
        Socket peer = Peer(new IPEndPoint(IPAddress.Loopback, port));
        for (int id = 0; id < 16; id++)
        {
            peer.Send([0x40, (byte)id]);
        }

        await Waiting.UntilAsync(() => probes.Any(static probe => probe.Arrivals.Count == 16), "all are at one");
    }

    [Fact]
    public void What_was_bound_says_what_it_can()
    {
        using DatagramSockets sockets = DatagramSockets.Open(Any, 3);
        Assert.Equal((3, true, true, true), (sockets.Count, sockets.IsSteered, sockets.CanSegment, sockets.CanCoalesce));
        Assert.NotEqual(0, sockets.EndPoint.Port);
        Assert.InRange(sockets.ReceiveBufferBytes, 100_000, 2 * 1024 * 1024);
    }

    [Theory]
    [Trait("Rfc", "9000-14")]
    [InlineData("127.0.0.1", false)]
    [InlineData("::", true)]
    public void What_is_sent_is_not_fragmented_and_messages_of_routers_do_not_change_its_size(string address, bool isIPv6)
    {
        using DatagramSockets sockets = DatagramSockets.Open(new IPEndPoint(IPAddress.Parse(address), 0), 1);
        int socket = sockets.Take(0);
        Span<byte> value = stackalloc byte[sizeof(int)];
        Assert.Equal(sizeof(int), SocketCalls.GetOption(socket, SocketOptionNumber.LevelIP, SocketOptionNumber.MtuDiscovery, value));
        Assert.Equal(SocketOptionNumber.MtuProbe, BitConverter.ToInt32(value));
        if (isIPv6)
        {
            Assert.Equal(sizeof(int), SocketCalls.GetOption(socket, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6MtuDiscovery, value));
            Assert.Equal(SocketOptionNumber.MtuProbe, BitConverter.ToInt32(value));
        }

        Assert.Equal(0, SocketCalls.Close(socket));
    }

    [Fact]
    public void An_address_in_use_is_an_error_and_leaves_nothing()
    {
        using DatagramSockets first = DatagramSockets.Open(Any, 2);
        EngineException refusal = Assert.Throws<EngineException>(() => DatagramSockets.Open(first.EndPoint, 2));
        Assert.True(refusal.IsAddressInUse);
        Assert.Contains("in use", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Overlapping_addresses_share_a_port_if_they_are_told_so()
    {
        using DatagramSockets all = DatagramSockets.Open(new IPEndPoint(IPAddress.IPv6Any, 0), 2);
        var one = new IPEndPoint(IPAddress.Loopback, all.EndPoint.Port);
        Assert.Throws<EngineException>(() => DatagramSockets.Open(one, 2));
        using DatagramSockets shared = DatagramSockets.Open(one, 2, new DatagramSettings { SharesPort = true });
        Assert.Equal(one, shared.EndPoint);
    }

    [Fact]
    public void An_address_of_another_machine_is_an_error() =>
        Assert.Throws<EngineException>(() => DatagramSockets.Open(new IPEndPoint(IPAddress.Parse("203.0.113.7"), 0), 1));

    [Fact]
    public void A_socket_is_taken_once()
    {
        using DatagramSockets sockets = DatagramSockets.Open(Any, 2);
        int taken = sockets.Take(1);
        Assert.Throws<ObjectDisposedException>(() => sockets.Take(1));
        sockets.Dispose();
        Assert.Equal(0, SocketCalls.Close(taken));
    }

    [Fact]
    public async Task A_socket_of_another_process_is_used_by_all_reactors_and_left_as_it_was()
    {
        await StartAsync(Options() with { Reactors = 2 });
        using var original = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        original.Bind(Any);
        var probes = new List<DatagramProbe>();
        var open = new List<DatagramSocket>();
        using DatagramSockets sockets = DatagramSockets.Acquire((int)original.Handle, 2, new DatagramSettings());
        Assert.Equal((2, false, original.LocalEndPoint), (sockets.Count, sockets.IsSteered, sockets.EndPoint));
        Assert.NotNull(sockets.CommonDrops);
        for (int i = 0; i < 2; i++)
        {
            probes.Add(new DatagramProbe());
            open.Add(await StartAsync(Group.Reactors[i], sockets.Take(i), probes[i]));
        }

        Socket peer = Peer(sockets.EndPoint);
        for (int i = 0; i < 100; i++)
        {
            peer.Send([(byte)i]);
        }

        await Waiting.UntilAsync(() => probes.Sum(static probe => probe.Datagrams) == 100, "all are here");
        await Task.WhenAll(open.Zip(probes, CloseAsync)).Within();
        peer.Send([1]);
        Assert.Equal(1, original.Receive(new byte[10]));
    }

    [Fact]
    public async Task Drops_of_a_socket_before_it_was_acquired_are_not_counted()
    {
        await StartAsync();
        using var original = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        original.Bind(Any);
        original.ReceiveBufferSize = 4096;
        Assert.Equal(0, SocketCalls.SetOption(
            (int)original.Handle, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveDrops, 1));
        Socket peer = Peer(original.LocalEndPoint!);
        for (int i = 0; i < 100; i++)
        {
            peer.Send(new byte[1000]);
        }

        byte[] room = new byte[1000];
        while (original.Available > 0)
        {
            original.Receive(room);
        }

        var probe = new DatagramProbe();
        using DatagramSockets sockets = DatagramSockets.Acquire((int)original.Handle, 1, new DatagramSettings());
        DatagramSocket socket = await Reactor.AskAsync(() =>
        {
            var socket = new DatagramSocket(Reactor, sockets.Take(0), probe, sockets.CommonDrops);
            socket.Start();
            return socket;
        });
        peer.Send([1]);
        await Waiting.UntilAsync(() => probe.Datagrams == 1, "it is here");
        Assert.Equal(0, socket.Counters.KernelDrops);
        await CloseAsync(socket, probe);
    }

    /// <summary>A descriptor's number, and the kernel's registration of it, may be those of the closed one.</summary>
    [Fact]
    public async Task A_socket_of_another_process_can_be_used_again_after_it_was_closed()
    {
        await StartAsync();
        using var original = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        original.Bind(Any);
        Socket peer = Peer(original.LocalEndPoint!);
        for (int i = 0; i < 4; i++)
        {
            var probe = new DatagramProbe();
            using DatagramSockets sockets = DatagramSockets.Acquire((int)original.Handle, 1, new DatagramSettings());
            DatagramSocket socket = await StartAsync(Reactor, sockets.Take(0), probe);
            peer.Send([(byte)i]);
            await Waiting.UntilAsync(() => probe.Datagrams == 1, "it is here");
            Assert.Equal(0, socket.Counters.ReceiveErrors);
            await CloseAsync(socket, probe);
        }
    }

    [Fact]
    public void A_receive_buffer_that_another_process_has_given_is_not_made_smaller()
    {
        const int Large = 8 * 1024 * 1024;
        using var original = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        original.Bind(Any);
        int forced = SocketCalls.SetOption(
            (int)original.Handle, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveBufferForce, Large);
        Assert.SkipUnless(forced == 0, "Only root may make it larger than the host's limit.");
        using DatagramSockets sockets = DatagramSockets.Acquire((int)original.Handle, 1, new DatagramSettings());
        Assert.Equal(Large, sockets.ReceiveBufferBytes);
    }

    [Fact]
    public void A_small_receive_buffer_of_another_process_is_made_larger()
    {
        using var original = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        original.Bind(Any);
        original.ReceiveBufferSize = 4096;
        using DatagramSockets sockets = DatagramSockets.Acquire((int)original.Handle, 1, new DatagramSettings());
        Assert.True(sockets.ReceiveBufferBytes > 50_000);
    }

    [Theory]
    [InlineData(SocketType.Stream, ProtocolType.Tcp, AddressFamily.InterNetwork)]
    [InlineData(SocketType.Dgram, ProtocolType.Unspecified, AddressFamily.Unix)]
    public void A_socket_of_another_kind_is_not_acquired(SocketType type, ProtocolType protocol, AddressFamily family)
    {
        using var other = new Socket(family, type, protocol);
        EngineException refusal = Assert.Throws<EngineException>(
            () => DatagramSockets.Acquire((int)other.Handle, 1, new DatagramSettings()));
        Assert.Contains("cannot be used for UDP", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Without_descriptors_nothing_is_bound_and_nothing_left()
    {
        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit before));
        var fillers = new List<int>();
        try
        {
            Assert.Equal(0, DescriptorLimit.Set(before with { Soft = (ulong)Directory.GetFiles("/proc/self/fd").Length + 32 }));
            int filler;
            while ((filler = SocketCalls.EventDescriptor()) >= 0)
            {
                fillers.Add(filler);
            }

            // Two are free, and three are needed.
            fillers[^2..].ForEach(static descriptor => SocketCalls.Close(descriptor));
            fillers.RemoveRange(fillers.Count - 2, 2);
            EngineException refusal = Assert.Throws<EngineException>(() => DatagramSockets.Open(Any, 3));
            Assert.Equal(Errno.EMFILE, refusal.ErrorNumber);
            using DatagramSockets sockets = DatagramSockets.Open(Any, 2);
        }
        finally
        {
            fillers.ForEach(static descriptor => SocketCalls.Close(descriptor));
            Assert.Equal(0, DescriptorLimit.Set(before));
        }
    }

    [Fact]
    public async Task A_client_talks_from_any_port()
    {
        await StartAsync();
        var server = new DatagramProbe
        {
            Received = static (socket, arrival) => Assert.True(TrySend(socket, arrival.Bytes, arrival.SegmentBytes, arrival.From)),
        };
        DatagramSocket serving = await OpenAsync(new IPEndPoint(IPAddress.IPv6Loopback, 0), server);
        var client = new DatagramProbe();
        DatagramSocket socket = await Reactor.AskAsync(() =>
        {
            DatagramSocket socket = DatagramSockets.OpenClient(Reactor, serving.LocalAddress.ToEndPoint(), client);
            socket.Start();
            return socket;
        });
        Assert.True(await SendAsync(socket, Pattern.Make(1, 5_000), 1_200, serving.LocalAddress));
        await Waiting.UntilAsync(() => client.Arrivals.Sum(static arrival => arrival.Bytes.Length) == 5_000, "the answer is here");
        await CloseAsync(socket, client);
    }

    private async Task<(DatagramProbe[] Probes, int Port, uint[] Key)> ServeAsync(IPEndPoint endPoint, DatagramSettings settings)
    {
        int reactors = Group.Reactors.Count;
        using DatagramSockets sockets = DatagramSockets.Open(endPoint, reactors, settings);
        DatagramProbe[] probes = [.. Enumerable.Range(0, reactors).Select(static _ => new DatagramProbe())];
        for (int i = 0; i < reactors; i++)
        {
            await StartAsync(Group.Reactors[i], sockets.Take(i), probes[i]);
        }

        return (probes, sockets.EndPoint.Port, [.. sockets.SteeringKey]);
    }

    /// <summary>The rule, without the kernel.</summary>
    private static int IndexOf(byte[] datagram, uint[] key, int reactors)
    {
        int offset = (datagram[0] & 0x80) == 0 ? 1 : 6;
        if (datagram.Length < offset + 8)
        {
            return 0;
        }

        uint left = BinaryPrimitives.ReadUInt32BigEndian(datagram.AsSpan(offset));
        uint right = BinaryPrimitives.ReadUInt32BigEndian(datagram.AsSpan(offset + 4));
        foreach (uint[] pair in key.Chunk(2))
        {
            uint product = (right ^ pair[0]) * (pair[1] | 1);
            (left, right) = (right, left ^ product ^ (product >> 16));
        }

        return (int)(right % reactors);
    }
}
