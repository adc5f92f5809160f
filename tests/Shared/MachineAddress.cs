using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;

namespace Millrace.Tests.Shared;

/// <summary>An address of this machine by which its own connections look like those from others.</summary>
internal static class MachineAddress
{
    /// <summary>An IPv4 address that is not the loopback's; the test is skipped where there is none.</summary>
    public static IPAddress Require()
    {
        IPAddress? own = NetworkInterface.GetAllNetworkInterfaces()
            .SelectMany(static device => device.GetIPProperties().UnicastAddresses)
            .Select(static entry => entry.Address)
            .FirstOrDefault(static address => address.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(address));
        Assert.SkipWhen(own is null, "This machine has no address but the loopback's.");
        return own;
    }
}
