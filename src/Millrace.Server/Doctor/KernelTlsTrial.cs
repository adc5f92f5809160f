using System.Net;
using System.Net.Sockets;
using Millrace.Interop.Sockets;

namespace Millrace.Server.Doctor;

/// <summary>
/// Asks a connection of its own over the loopback for the kernel's TLS, as only established ones can be, and closes it. A kernel that
/// has it as a module may load that, as for any program that asks.
/// </summary>
internal static class KernelTlsTrial
{
    /// <summary>Null where there is no connection to try it on.</summary>
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
