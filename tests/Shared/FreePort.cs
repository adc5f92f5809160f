using System.Net;
using System.Net.Sockets;

namespace Millrace.Tests.Shared;

/// <summary>
/// Finds ports for tests that must name one before a program listens on it. A port is free when it is found, and returned once in a
/// process. It is below net.ipv4.ip_local_port_range, so the kernel does not choose it for outgoing connections.
/// </summary>
internal static class FreePort
{
    private const int First = 10_000;
    private const int Count = 22_000;
    private static int LastGiven = Random.Shared.Next(Count);

    public static int Find()
    {
        for (int tries = 0; tries < Count; tries++)
        {
            int port = First + ((Interlocked.Increment(ref LastGiven) & int.MaxValue) % Count);
            if (IsFree(port))
            {
                return port;
            }
        }

        throw new InvalidOperationException($"All ports from {First} to {First + Count} are in use.");
    }

    private static bool IsFree(int port)
    {
        // Of both families, where the machine has both.
        using var probe = new Socket(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            probe.Bind(new IPEndPoint(Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any, port));
            return true;
        }
        catch (SocketException e) when (e.SocketErrorCode is SocketError.AddressAlreadyInUse)
        {
            return false;
        }
    }
}
