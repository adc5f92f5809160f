using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.AspNetCore.Tests.StaticFiles.Kit;

/// <summary>The same request again and again, one at a time, on one connection.</summary>
internal static class KeptConnection
{
    public static async Task AskAsync(HostedApp app, string request, int times)
    {
        using var deadline = new CancellationTokenSource(HostedApp.Limit);
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(new IPEndPoint(IPAddress.Loopback, app.Address.Port), deadline.Token);
        byte[] bytes = Encoding.ASCII.GetBytes(request);
        byte[] input = new byte[64 * 1024];
        bool isHead = request.StartsWith("HEAD ", StringComparison.Ordinal);
        for (int time = 0; time < times; time++)
        {
            await socket.SendAsync(bytes, deadline.Token);
            int filled = 0;
            while (!IsWhole(Encoding.Latin1.GetString(input, 0, filled), isHead))
            {
                int read = await socket.ReceiveAsync(input.AsMemory(filled), deadline.Token);
                Assert.NotEqual(0, read);
                filled += read;
            }
        }
    }

    private static bool IsWhole(string response, bool isHead)
    {
        int end = response.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        if (end < 0)
        {
            return false;
        }

        const string name = "Content-Length: ";
        int length = response.IndexOf(name, 0, end, StringComparison.Ordinal);
        return length < 0 || isHead || response.Length == end + 4 + int.Parse(response.AsSpan(length + name.Length)
            [..response.AsSpan(length + name.Length).IndexOf('\r')], System.Globalization.CultureInfo.InvariantCulture);
    }
}
