using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connecting;

/// <summary>Creates the sockets that connect.</summary>
internal static class ConnectSocket
{
    /// <summary>Opens a socket of the address's family with its options; the caller closes it.</summary>
    /// <exception cref="NotSupportedException">The address is of a kind that cannot be connected to.</exception>
    /// <exception cref="SocketException">No socket is available.</exception>
    public static int Open(EndPoint endPoint, ConnectSettings settings)
    {
        if (endPoint is not (IPEndPoint or UnixDomainSocketEndPoint))
        {
            throw new NotSupportedException(
                $"{endPoint} cannot be connected to: give an IPv4, IPv6 or unix socket address (resolve a name first).");
        }

        int socket = SocketCalls.Socket(SocketEndPoint.Family(endPoint), SocketTypeNumber.Stream);
        if (socket < 0)
        {
            throw ConnectErrors.Of(endPoint, -socket);
        }

        if (endPoint is IPEndPoint)
        {
            // Both options affect only timing: if they are refused, the connection still works.
            _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay, settings.NoDelay ? 1 : 0);
            _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater, settings.KernelUnsentBytes);
        }

        return socket;
    }
}
