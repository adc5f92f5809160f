using System.Globalization;
using System.Net.Sockets;
using System.Text;

#pragma warning disable MA0047 // The runtime finds it by this name, outside of all namespaces.
/// <summary>
/// Runs in the published server before its own Main, by DOTNET_STARTUP_HOOKS, and tells whoever connects to a socket how many bytes were
/// ever allocated: the server is measured as it ships, without a way in that only tests need.
/// </summary>
internal static class StartupHook
{
    public const string Variable = "ALLOCATION_TALLY_SOCKET";

    public static void Initialize()
    {
        var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(Environment.GetEnvironmentVariable(Variable)!));
        listener.Listen();
        new Thread(() => Response(listener)) { IsBackground = true }.Start();
    }

    private static void Response(Socket listener)
    {
        while (true)
        {
            using Socket asking = listener.Accept();
            asking.Send(Encoding.ASCII.GetBytes(GC.GetTotalAllocatedBytes(precise: true).ToString(CultureInfo.InvariantCulture)));
        }
    }
}
