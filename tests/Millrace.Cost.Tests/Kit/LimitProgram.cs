using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Cost.Tests.Kit;

/// <summary>bench/limit: what the kernel charges for a request, and next to nothing else.</summary>
[SupportedOSPlatform("linux")]
internal static class LimitProgram
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private static readonly string Program = Path.Combine(Places.Artifacts, "limit");

    public static async Task<(ServerProcess Server, Uri Url)> StartAsync(int bodyBytes)
    {
        await Tool.RunToSuccessAsync(Deadline, "make", "-C", Path.Combine(Places.Repository, "bench", "limit"), $"OUT={Program}");
        int port = FreePort.Find();
        ServerProcess server = ServerProcess.Launch("taskset", Cores.ForServer(Program, Text(port), Text(bodyBytes)));
        try
        {
            await AwaitListenerAsync(port);
            return (server, new Uri($"http://127.0.0.1:{port}/"));
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }
    }

    private static async Task AwaitListenerAsync(int port)
    {
        using var deadline = new CancellationTokenSource(Deadline);
        while (true)
        {
            using var probe = new TcpClient();
            try
            {
                await probe.ConnectAsync(IPAddress.Loopback, port, deadline.Token);
                return;
            }
            catch (SocketException refused) when (refused.SocketErrorCode == SocketError.ConnectionRefused)
            {
                await Task.Delay(5, deadline.Token);
            }
        }
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
