using System.Buffers.Binary;
using System.Net;
using Millrace.Interop.Sockets;

namespace Millrace.Interop.Tests.Kit;

/// <summary>A listener on the loopback and one connection to it, all of raw descriptors; owns the three.</summary>
internal sealed class TcpPair : IDisposable
{
    public const int NotSentLowWaterBytes = 262_144;

    public TcpPair()
    {
        // The order of the engine's ListenSockets: options, then bind, then listen.
        Listener = Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        Require(SocketCalls.SetOption(Listener, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReuseAddress, 1));
        Require(SocketCalls.SetOption(Listener, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, 1));
        Require(SocketCalls.SetOption(
            Listener, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater, NotSentLowWaterBytes));
        Require(SocketCalls.Bind(Listener, Encode(new IPEndPoint(IPAddress.Loopback, 0))));
        Require(SocketCalls.Listen(Listener, backlog: 8));
        Client = Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        Require(SocketCalls.Connect(Client, Encode(LocalOf(Listener))));
        Accepted = Require(SocketCalls.Accept(Listener));
    }

    public int Listener { get; }

    public int Client { get; private set; }

    public int Accepted { get; private set; }

    public static int Require(int result)
    {
        Assert.True(result >= 0, result < 0 ? Errno.Describe(result) : null);
        return result;
    }

    public static ReadOnlySpan<byte> Encode(EndPoint endPoint)
    {
        SocketAddress address = endPoint.Serialize();
        return address.Buffer.Span[..address.Size];
    }

    public static IPEndPoint LocalOf(int socket)
    {
        Span<byte> address = stackalloc byte[128];
        return Decode(address[..Require(SocketCalls.LocalAddress(socket, address))]);
    }

    public static IPEndPoint PeerOf(int socket)
    {
        Span<byte> address = stackalloc byte[128];
        return Decode(address[..Require(SocketCalls.PeerAddress(socket, address))]);
    }

    public static int OptionOf(int socket, int level, int name)
    {
        Span<byte> value = stackalloc byte[sizeof(int)];
        Assert.Equal(sizeof(int), SocketCalls.GetOption(socket, level, name, value));
        return BinaryPrimitives.ReadInt32LittleEndian(value);
    }

    public void CloseClient()
    {
        Require(SocketCalls.Close(Client));
        Client = -1;
    }

    public void CloseAccepted()
    {
        Require(SocketCalls.Close(Accepted));
        Accepted = -1;
    }

    public void Dispose()
    {
        foreach (int descriptor in (int[])[Listener, Client, Accepted])
        {
            if (descriptor >= 0)
            {
                Require(SocketCalls.Close(descriptor));
            }
        }
    }

    private static IPEndPoint Decode(ReadOnlySpan<byte> address)
    {
        Assert.Equal(AddressFamilyNumber.InterNetwork, BinaryPrimitives.ReadInt16LittleEndian(address));
        return new IPEndPoint(new IPAddress(address.Slice(4, 4)), BinaryPrimitives.ReadUInt16BigEndian(address[2..]));
    }
}
