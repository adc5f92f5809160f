using System.Net;
using System.Net.Sockets;

namespace Millrace.Engine.Tests.Kit;

/// <summary>An address where a connect neither succeeds nor fails: a listener whose queue is full, so that the kernel drops every SYN.</summary>
internal sealed class BlackHole : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly List<Socket> _queued = [];

    private BlackHole()
    {
    }

    public EndPoint EndPoint => _listener.LocalEndPoint!;

    public static BlackHole Open()
    {
        var hole = new BlackHole();
        hole._listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        hole._listener.Listen(0);
        // A queue of 0 has room for one. The others wait for it to be accepted, and with them whoever comes later.
        for (int i = 0; i < 3; i++)
        {
            var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { Blocking = false };
            hole._queued.Add(socket);
            try
            {
                socket.Connect(hole.EndPoint);
            }
            catch (SocketException pending) when (pending.SocketErrorCode is SocketError.WouldBlock or SocketError.InProgress)
            {
                // As it should be.
            }
        }

        Assert.True(hole._queued[0].Poll(EngineTest.Patience, SelectMode.SelectWrite), "The queue does not fill.");
        return hole;
    }

    public void Dispose()
    {
        _queued.ForEach(static socket => socket.Dispose());
        _listener.Dispose();
    }
}
