using System.Net;
using System.Net.Sockets;

namespace Millrace.Idle;

/// <summary>Connections to the server from many addresses of this machine: one address has 28,000 ports for all that it asks.</summary>
internal static class Loopback
{
    private const int PerAddress = 2_000;

    private static int Opened;

    /// <param name="port">The server's.</param>
    /// <param name="receiveBytes">The kernel's buffer for what comes; 0 for its own choice.</param>
    public static Socket Connect(int port, int receiveBytes = 0)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        if (receiveBytes > 0)
        {
            socket.ReceiveBufferSize = receiveBytes;
        }

        // 127.0.0.2 and on; all of 127/8 is this machine.
        int address = 2 + (Interlocked.Increment(ref Opened) / PerAddress % 250);
        socket.Bind(new IPEndPoint(new IPAddress([127, 0, 0, (byte)address]), 0));
        socket.Connect(IPAddress.Loopback, port);
        return socket;
    }
}
