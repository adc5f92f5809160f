using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Datagrams.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Datagrams;

/// <summary>
/// A UDP socket whose send buffer is full: datagrams to a neighbour that does not exist stay in it until the kernel gives the neighbour up,
/// after three seconds.
/// </summary>
public class FullSocketTests : DatagramTest
{
    private const int SendBufferBytes = 10_000;

    [Fact]
    public async Task Sends_that_wait_are_given_up_by_a_close_and_their_memory_returned()
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await FillAsync(probe);
        // Another socket is not affected.
        var other = new DatagramProbe();
        DatagramSocket open = await OpenAsync(other);
        Assert.True(await SendAsync(open, [1], 1, open.LocalAddress));
        await Waiting.UntilAsync(() => other.Datagrams == 1, "it is here");
        await CloseAsync(socket, probe);
        Assert.Equal(0, await Reactor.AskAsync(() => Reactor.Pools.Lent));
        Assert.Equal(["closed"], probe.Calls);
    }

    [Fact]
    public async Task A_reactor_that_stops_gives_up_sends_that_wait()
    {
        ReactorGroup group = await StartAsync();
        var probe = new DatagramProbe();
        await FillAsync(probe);
        await group.StopAsync(TimeSpan.Zero).Within();
        Assert.Equal((true, 0), (probe.Closed.IsCompletedSuccessfully, Reactor.Pools.Lent));
    }

    /// <summary>Sleeps: the kernel's time for neighbours is real time.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Sends_that_wait_go_on_when_there_is_room()
    {
        await StartAsync();
        var probe = new DatagramProbe();
        DatagramSocket socket = await FillAsync(probe);
        long before = socket.Counters.Sends;
        await Waiting.UntilAsync(() => socket.Counters.Sends > before, "there is room");
        await CloseAsync(socket, probe);
    }

    private async Task<DatagramSocket> FillAsync(DatagramProbe probe)
    {
        DatagramAddress? nobody = Nobody();
        Assert.SkipUnless(nobody is not null, "This machine has no network with an address that nobody has.");
        using DatagramSockets sockets = DatagramSockets.Open(new IPEndPoint(IPAddress.Any, 0), 1);
        int descriptor = sockets.Take(0);
        Assert.Equal(
            0, SocketCalls.SetOption(descriptor, SocketOptionNumber.LevelSocket, SocketOptionNumber.SendBuffer, SendBufferBytes));
        DatagramSocket socket = await StartAsync(Reactor, descriptor, probe);
        int sent = await Reactor.AskAsync(() =>
        {
            int sent = 0;
            while (TrySend(socket, new byte[1_000], 1_000, nobody.Value))
            {
                sent++;
            }

            return sent;
        });
        await Waiting.UntilAsync(() => socket.Counters.Sends > 0, "what there is room for is sent");
        Assert.SkipUnless(socket.Counters.Sends < sent / 2, "The network takes all.");
        return socket;
    }

    /// <summary>An address of a network that this machine is directly connected to, which most likely no machine has.</summary>
    private static DatagramAddress? Nobody() => (
        from network in NetworkInterface.GetAllNetworkInterfaces()
        where network is { OperationalStatus: OperationalStatus.Up, NetworkInterfaceType: NetworkInterfaceType.Ethernet }
        from address in network.GetIPProperties().UnicastAddresses
        where address.Address.AddressFamily == AddressFamily.InterNetwork && address.PrefixLength <= 24
        let bytes = address.Address.GetAddressBytes()
        select (DatagramAddress?)DatagramAddress.Of(new IPEndPoint(new IPAddress([bytes[0], bytes[1], bytes[2], (byte)(bytes[3] ^ 0xB5)]), 9)))
        .FirstOrDefault();
}
