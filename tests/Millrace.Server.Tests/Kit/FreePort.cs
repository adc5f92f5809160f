using System.Net;
using System.Net.Sockets;

namespace Millrace.Server.Tests.Kit;

/// <summary>For who has to name a port before anybody listens there: one that is free now, and may be taken a moment later.</summary>
internal static class FreePort
{
    public static int Find()
    {
        using var probe = new TcpListener(IPAddress.Loopback, 0);
        probe.Start();
        return ((IPEndPoint)probe.LocalEndpoint).Port;
    }
}
