using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Limits as an operator sets and sees them.</summary>
public class LimitTests
{
    private static readonly byte[] Request = Encoding.ASCII.GetBytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

    [Theory]
    [InlineData("--connections", "2")]
    [InlineData("--connections-per-client", "2")]
    public async Task Beyond_the_limit_the_newest_is_answered_503_and_one_line_says_so(string flag, string most)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", flag, most);
        using Wire first = Wire.Open(server.Url);
        using Wire second = Wire.Open(server.Url);
        Assert.Equal(200, first.Send(Request).Status);
        Assert.Equal(200, second.Send(Request).Status);

        for (int i = 0; i < 5; i++)
        {
            WireResponse response = Wire.Get(server.Url, "/");
            Assert.Equal((503, "close", "1"), (response.Status, response.Field("Connection"), response.Field("Retry-After")));
        }

        Assert.Equal(200, first.Send(Request).Status);
        second.Dispose();
        await Wire.AwaitAsync(server.Url, "/", static response => response.Status == 200);
        first.Dispose();
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        string error = await server.ErrorAsync();
        Assert.Equal(1, error.Split("Turned away").Length - 1);
        Assert.Contains($" {most} connections is reached. Raise {flag}.", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_head_beyond_the_limit_is_answered_431()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--head-max", "2k");
        Assert.Equal(200, Wire.Get(server.Url, "/", "X: " + new string('x', 1_800)).Status);
        Assert.Equal(431, Wire.Get(server.Url, "/", "X: " + new string('x', 2_100)).Status);
    }

    [Theory]
    [InlineData("--head-timeout", "GET / HTTP/1.1\r\nHost", 408)]
    [InlineData("--receive-timeout", "GET / HTTP/1.1\r\nHost", 408)]
    [InlineData("--keep-alive-timeout", "", 0)]
    public async Task Deadlines_are_those_that_were_asked_for(string flag, string sent, int status)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", flag, "1");
        long startedAt = Stopwatch.GetTimestamp();
        using Wire wire = Wire.Open(server.Url);
        Assert.Equal(status, wire.Send(Encoding.ASCII.GetBytes(sent)).Status);
        Assert.InRange(Stopwatch.GetElapsedTime(startedAt), TimeSpan.FromSeconds(0.9), TimeSpan.FromSeconds(8));
    }

    [Fact]
    public async Task A_client_that_takes_nothing_is_reset()
    {
        using var folder = new TempFolder();
        folder.Add("large.bin", 64 * 1024 * 1024);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--send-timeout", "1");
        using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin"));
        await download.AwaitResetAsync();
    }
}
