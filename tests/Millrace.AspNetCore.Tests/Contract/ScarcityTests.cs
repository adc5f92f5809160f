using System.Globalization;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>What runs out comes back: an endpoint must not be dead for good because of it.</summary>
public partial class ScarcityTests
{
    private const int RlimitNoFile = 7;
    private const int Connections = 30;

    [Theory, EachTransport]
    public async Task Connections_that_came_while_descriptors_had_run_out_are_served_when_they_are_back(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, static context => context.Response.WriteAsync("answer"));
        using (RawClient warm = await application.ConnectAsync())
        {
            await warm.GetAsync();
        }

        // Theirs exist before the limit falls: connecting takes none.
        Socket[] sockets = [.. Enumerable.Range(0, Connections).Select(static _ =>
            new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true })];
        byte[] request = "GET / HTTP/1.1\r\nHost: mill\r\nConnection: close\r\n\r\n"u8.ToArray();
        ulong[] limit = new ulong[2];
        Assert.Equal(0, GetLimit(RlimitNoFile, limit));
        Assert.Equal(0, SetLimit(RlimitNoFile, [(ulong)HighestDescriptor() + 1, limit[1]]));
        try
        {
            foreach (Socket socket in sockets)
            {
                await socket.ConnectAsync(application.EndPoint).Within();
                Assert.Equal(request.Length, await socket.SendAsync(request, SocketFlags.None).Within());
            }

            await Task.Delay(500);
        }
        finally
        {
            Assert.Equal(0, SetLimit(RlimitNoFile, limit));
        }

        foreach (Socket socket in sockets)
        {
            await using var stream = new NetworkStream(socket, ownsSocket: true);
            using var reader = new StreamReader(stream);
            Assert.Contains("answer", await reader.ReadToEndAsync().Within(), StringComparison.Ordinal);
        }
    }

    private static int HighestDescriptor() => Directory.GetFiles("/proc/self/fd").Max(static path => int.Parse(
        Path.GetFileName(path), CultureInfo.InvariantCulture));

    [LibraryImport("libc", EntryPoint = "getrlimit")]
    private static partial int GetLimit(int resource, [Out] ulong[] limit);

    [LibraryImport("libc", EntryPoint = "setrlimit")]
    private static partial int SetLimit(int resource, ulong[] limit);
}
