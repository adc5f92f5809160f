using System.Net;
using System.Net.Sockets;

namespace Millrace.Tests.Shared;

/// <summary>
/// For who has to name a port before anybody listens there: one that is free now, and may be taken a moment later.
/// </summary>
internal static class FreePort
{
    public static int Find()
    {
        // Of both families, where the machine has both.
        using var probe = new Socket(SocketType.Stream, ProtocolType.Tcp);
        probe.Bind(new IPEndPoint(Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any, 0));
        return ((IPEndPoint)probe.LocalEndPoint!).Port;
    }
}
