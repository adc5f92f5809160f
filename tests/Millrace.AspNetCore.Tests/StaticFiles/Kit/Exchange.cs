using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.AspNetCore.Tests.StaticFiles.Kit;

/// <summary>One request as it is written, over a connection of its own: for targets that no client library sends.</summary>
internal static class Exchange
{
    /// <summary>The whole answer, head and body, as text.</summary>
    public static Task<string> SendAsync(HostedApp app, string method, string target, params string[] fields) =>
        SendToAsync(app, "localhost", method, target, fields);

    /// <summary>The same for a host.</summary>
    public static async Task<string> SendToAsync(HostedApp app, string host, string method, string target, params string[] fields)
    {
        using var deadline = new CancellationTokenSource(HostedApp.Limit);
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(new IPEndPoint(IPAddress.Loopback, app.Address.Port), deadline.Token);
        string head = string.Concat(fields.Select(static field => field + "\r\n"));
        await socket.SendAsync(
            Encoding.Latin1.GetBytes($"{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{head}\r\n"), deadline.Token);
        using var stream = new NetworkStream(socket);
        using var response = new MemoryStream();
        await stream.CopyToAsync(response, deadline.Token);
        return Encoding.Latin1.GetString(response.ToArray());
    }

    public static async Task<int> StatusAsync(HostedApp app, string method, string target) =>
        int.Parse((await SendAsync(app, method, target)).Split(' ')[1], System.Globalization.CultureInfo.InvariantCulture);
}
