using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>The samples build and do what their first lines say.</summary>
public class SampleTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>Each once for all tests.</summary>
    private static readonly ConcurrentDictionary<string, Lazy<Task<string>>> Built = new();

    [Fact]
    public async Task The_raw_handler_answers_every_head()
    {
        await using ServerProcess server = await StartAsync("RawHandler");
        using var client = new HttpClient();

        Assert.Equal("Hello, water.\n", await client.GetStringAsync("http://127.0.0.1:5000/"));
        Assert.Equal("Hello, water.\n", await client.GetStringAsync("http://127.0.0.1:5000/again"));

        client.Dispose();
        server.Signal(PosixSignal.SIGINT);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    [Fact]
    public async Task The_pipe_handler_reverses_every_line()
    {
        await using ServerProcess server = await StartAsync("PipeHandler");
        using var client = new TcpClient();
        await client.ConnectAsync(IPAddress.Loopback, 5001);
        NetworkStream stream = client.GetStream();

        await stream.WriteAsync(Encoding.ASCII.GetBytes("mill\nrace"));
        await stream.WriteAsync(Encoding.ASCII.GetBytes(" on\n"));
        client.Client.Shutdown(SocketShutdown.Send);

        using var reader = new StreamReader(stream);
        Assert.Equal("llim\nno ecar\n", await reader.ReadToEndAsync());
        client.Dispose();
        server.Signal(PosixSignal.SIGINT);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    [Theory]
    [InlineData("RawHandler", 5000, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nHello, water.\n")]
    [InlineData("PipeHandler", 5001, "mill\n", "llim\n")]
    public async Task A_stop_ends_idle_connections_in_order(string name, int port, string request, string response)
    {
        await using ServerProcess server = await StartAsync(name);
        using var client = new TcpClient();
        await client.ConnectAsync(IPAddress.Loopback, port);
        NetworkStream stream = client.GetStream();
        byte[] answered = new byte[response.Length];
        await stream.WriteAsync(Encoding.ASCII.GetBytes(request));
        await stream.ReadExactlyAsync(answered);
        Assert.Equal(response, Encoding.ASCII.GetString(answered));

        server.Signal(PosixSignal.SIGINT);

        // Whoever is left when the time for finishing is over is reset.
        Assert.Equal(0, await stream.ReadAsync(answered).AsTask().WaitAsync(Deadline));
        client.Dispose();
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    [Fact]
    public async Task A_stop_lets_the_pipe_handler_finish_a_line()
    {
        await using ServerProcess server = await StartAsync("PipeHandler");
        using var idle = new TcpClient();
        using var busy = new TcpClient();
        byte[] answered = new byte[6];
        await idle.ConnectAsync(IPAddress.Loopback, 5001);
        await idle.GetStream().WriteAsync("begun\n"u8.ToArray());
        await idle.GetStream().ReadExactlyAsync(answered);
        await busy.ConnectAsync(IPAddress.Loopback, 5001);
        await busy.GetStream().WriteAsync("begun\nmi"u8.ToArray());
        await busy.GetStream().ReadExactlyAsync(answered);

        server.Signal(PosixSignal.SIGINT);
        Assert.Equal(0, await idle.GetStream().ReadAsync(answered).AsTask().WaitAsync(Deadline));
        idle.Dispose();
        await busy.GetStream().WriteAsync("ll\n"u8.ToArray());

        using var reader = new StreamReader(busy.GetStream());
        Assert.Equal("llim\n", await reader.ReadToEndAsync());
        busy.Dispose();
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    private static async Task<ServerProcess> StartAsync(string name) => await ServerProcess.StartAsync(
        await Built.GetOrAdd(name, static name => new Lazy<Task<string>>(() => BuildAsync(name))).Value, [], lastLine: "Listening on ");

    private static async Task<string> BuildAsync(string name)
    {
        if (Places.Built is { } built)
        {
            return Path.Combine(built, "samples", name, name);
        }

        string folder = Path.Combine(Places.Artifacts, name);
        await Tool.RunToSuccessAsync(
            TimeSpan.FromMinutes(4),
            "dotnet", "build", Path.Combine(Places.Repository, "samples", name), "-c", "Release", "-o", folder,
            "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");
        return Path.Combine(folder, name);
    }
}
