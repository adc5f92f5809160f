using System.Net;
using System.Net.Sockets;

namespace Millrace.Cost.Tests.Kit;

/// <summary>A connection on which one request after the other is made. Blocks its caller.</summary>
internal abstract class KeptConnection : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
    {
        NoDelay = true,
        ReceiveTimeout = 60_000,
        SendTimeout = 60_000,
    };

    protected KeptConnection(Uri server) => _socket.Connect(IPAddress.Loopback, server.Port);

    /// <summary>Makes so many requests in one write, and takes their answers.</summary>
    public abstract void Ask(int requests = 1);

    public void Dispose() => _socket.Dispose();

    protected void Send(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            bytes = bytes[_socket.Send(bytes)..];
        }
    }

    protected int Receive(Span<byte> room)
    {
        int count = _socket.Receive(room);
        Assert.True(count > 0, "The server ended the connection.");
        return count;
    }

    protected void Fill(Span<byte> room)
    {
        while (room.Length > 0)
        {
            room = room[Receive(room)..];
        }
    }
}
