using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>The samples build and do what their first lines say.</summary>
public class SampleTests
{
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

    private static async Task<ServerProcess> StartAsync(string name)
    {
        string folder = Path.Combine(Places.Artifacts, name);
        await Tool.RunToSuccessAsync(
            TimeSpan.FromMinutes(2),
            "dotnet", "build", Path.Combine(Places.Repository, "samples", name), "-c", "Release", "-o", folder,
            "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");
        return await ServerProcess.StartAsync(Path.Combine(folder, name), [], lastLine: "Listening on ");
    }
}
