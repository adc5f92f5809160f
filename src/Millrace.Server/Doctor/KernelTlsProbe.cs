using System.Net;
using System.Net.Sockets;
using Millrace.Interop.Sockets;

namespace Millrace.Server.Doctor;

/// <summary>
/// Tests for kernel TLS on a loopback connection of its own, as only established connections support it, and closes it. A kernel may load
/// its TLS module for this, as for any program.
/// </summary>
internal static class KernelTlsProbe
{
    /// <summary>Null if no connection for the test is possible.</summary>
    public static bool? Run()
    {
        try
        {
            using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen(1);
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Connect(listener.LocalEndPoint!);
            return Takes(socket);
        }
        catch (SocketException)
        {
            return null;
        }
    }

    private static bool Takes(Socket socket)
    {
        try
        {
            socket.SetRawSocketOption(SocketOptionNumber.LevelTcp, SocketOptionNumber.UpperLayerProtocol, "tls"u8);
            return true;
        }
        catch (SocketException)
        {
            // ENOENT from kernels without it, ENOPROTOOPT from those before 4.13 and from sandboxes.
            return false;
        }
    }
}
