using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connecting;

/// <summary>Makes the sockets that connect.</summary>
internal static class ConnectSocket
{
    /// <summary>A socket of the address's family with its options, the caller's to close.</summary>
    /// <exception cref="NotSupportedException">It is no address that can be connected to.</exception>
    /// <exception cref="SocketException">There is no socket to be had.</exception>
    public static int Open(EndPoint endPoint, ConnectSettings settings)
    {
        if (endPoint is not (IPEndPoint or UnixDomainSocketEndPoint))
        {
            throw new NotSupportedException(
                $"{endPoint} cannot be connected to: give an IPv4, IPv6 or unix socket address (a name is to be resolved first).");
        }

        int socket = SocketCalls.Socket(SocketEndPoint.Family(endPoint), SocketTypeNumber.Stream);
        if (socket < 0)
        {
            throw ConnectRefusal.Of(endPoint, -socket);
        }

        if (endPoint is IPEndPoint)
        {
            // Neither changes what is sent, only when: not worth a connection where they are refused.
            _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, settings.NoDelay ? 1 : 0);
            _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater, settings.KernelUnsentBytes);
        }

        return socket;
    }
}
