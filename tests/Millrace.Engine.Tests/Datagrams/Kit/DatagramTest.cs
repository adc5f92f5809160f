using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Datagrams.Kit;

/// <summary>Opens UDP sockets on reactors for a test, and closes those that are still open at its end.</summary>
public abstract class DatagramTest : EngineTest
{
    /// <summary>A socket of a group's first reactor, or of another one.</summary>
    internal async Task<DatagramSocket> OpenAsync(IPEndPoint endPoint, DatagramProbe probe, int reactor = 0)
    {
        using DatagramSockets sockets = DatagramSockets.Open(endPoint, 1);
        return await StartAsync(Group.Reactors[reactor], sockets.Take(0), probe);
    }

    internal Task<DatagramSocket> OpenAsync(DatagramProbe probe) => OpenAsync(new IPEndPoint(IPAddress.Loopback, 0), probe);

    internal async Task<DatagramSocket> StartAsync(Reactor reactor, int descriptor, DatagramProbe probe)
    {
        DatagramSocket socket = await reactor.AskAsync(() =>
        {
            var socket = new DatagramSocket(reactor, descriptor, probe);
            socket.Start();
            return socket;
        });
        Keep(new Closing(socket, probe));
        return socket;
    }

    internal static async Task CloseAsync(DatagramSocket socket, DatagramProbe probe)
    {
        socket.Reactor.Post(static socket => ((DatagramSocket)socket!).Close(), socket);
        await probe.Closed.Within();
    }

    /// <summary>A socket of .NET that sends to an address and receives from it alone.</summary>
    internal Socket Peer(EndPoint to, IPAddress? from = null)
    {
        Socket socket = Keep(new Socket(to.AddressFamily, SocketType.Dgram, ProtocolType.Udp) { ReceiveTimeout = 15_000 });
        socket.ReceiveBufferSize = 4 * 1024 * 1024;
        if (from is not null)
        {
            socket.Bind(new IPEndPoint(from, 0));
        }

        socket.Connect(to);
        return socket;
    }

    internal static byte[] Receive(Socket socket)
    {
        byte[] buffer = new byte[65_535];
        return buffer[..socket.Receive(buffer)];
    }

    /// <summary>Sends one buffer from a socket, on its reactor's thread.</summary>
    internal static Task<bool> SendAsync(
        DatagramSocket socket, byte[] bytes, int segmentBytes, DatagramAddress to, DatagramAddress from = default, DatagramEcn ecn = default) =>
        socket.Reactor.AskAsync(() => TrySend(socket, bytes, segmentBytes, to, from, ecn));

    internal static bool TrySend(
        DatagramSocket socket, byte[] bytes, int segmentBytes, DatagramAddress to, DatagramAddress from = default, DatagramEcn ecn = default)
    {
        Span<byte> buffer = socket.GetSendBuffer(bytes.Length);
        if (buffer.IsEmpty)
        {
            return false;
        }

        Assert.Equal(bytes.Length, buffer.Length);
        bytes.CopyTo(buffer);
        socket.Send(bytes.Length, segmentBytes, to, from, ecn);
        return true;
    }

    private sealed class Closing(DatagramSocket socket, DatagramProbe probe) : IDisposable
    {
        public void Dispose()
        {
            if (!socket.Reactor.HasEnded)
            {
                Assert.True(CloseAsync(socket, probe).Wait(Patience));
            }
        }
    }
}
