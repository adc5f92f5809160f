using System.Globalization;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>
/// What runs out comes back: an endpoint must not be dead for good because of it. In a process of its own, as a runtime without descriptors
/// fails to load what it needs, and remembers that.
/// </summary>
public partial class ScarcityTests
{
    private const int RlimitNoFile = 7;
    private const int Connections = 30;

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData("millrace")]
    [InlineData("sockets")]
    public async Task Connections_that_came_while_descriptors_had_run_out_are_served_when_they_are_back(string transport)
    {
        (ChildServer server, Uri url) = await WebApiSample.StartAsync(transport);
        await using (server)
        {
            // Everything that serving takes is loaded before the limit falls.
            await Task.WhenAll(Enumerable.Range(0, Connections).Select(_ => AskAsync(url)));
            ulong[] limit = new ulong[2];
            Assert.Equal(0, Limit(server.Id, RlimitNoFile, null, limit));
            Assert.Equal(0, Limit(server.Id, RlimitNoFile, [(ulong)HighestDescriptor(server.Id) + 1, limit[1]], null));

            Task<string>[] responses = [.. Enumerable.Range(0, Connections).Select(_ => AskAsync(url))];
            // Sleeps: the server is another process, and says nothing while its connections wait in the kernel.
            await Task.Delay(500);
            Assert.Equal(0, Limit(server.Id, RlimitNoFile, limit, null));

            Assert.All(await Task.WhenAll(responses), static response => Assert.Contains("Hello, World!", response, StringComparison.Ordinal));
        }
    }

    private static async Task<string> AskAsync(Uri url)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(url.Host, url.Port).Within();
        await using var stream = new NetworkStream(socket);
        await stream.WriteAsync("GET /plaintext HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n"u8.ToArray()).AsTask().Within();
        using var reader = new StreamReader(stream, Encoding.ASCII);
        return await reader.ReadToEndAsync().Within();
    }

    private static int HighestDescriptor(int process) => Directory.GetFiles($"/proc/{process}/fd").Max(static path => int.Parse(
        Path.GetFileName(path), CultureInfo.InvariantCulture));

    [LibraryImport("libc", EntryPoint = "prlimit")]
    private static partial int Limit(int process, int resource, ulong[]? limit, [Out] ulong[]? before);
}
