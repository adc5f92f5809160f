using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Service;

/// <summary>Other ways of receiving and sending, in a server that gives up all it can.</summary>
[SupportedOSPlatform("linux")]
[Trait("Backend", "io_uring")]
public class RingOptionTests
{
    [Theory]
    [InlineData("--one-shot-receive")]
    [InlineData("--zero-copy-send", "1")]
    [InlineData("--zero-copy-send", "64k", "--one-shot-receive")]
    [InlineData("--zero-copy-send", "1", "--submission-polling", "20")]
    [InlineData("--registered-buffers", "256k")]
    [InlineData("--registered-buffers", "4m", "--zero-copy-send", "1", "--bake-max", "0")]
    [InlineData("--registered-buffers", "4m", "--zero-copy-send", "4k", "--submission-polling", "20")]
    [InlineData("--registered-files")]
    [InlineData("--registered-files", "--one-shot-receive", "--zero-copy-send", "1")]
    [InlineData("--registered-files", "--submission-polling", "20")]
    public async Task Files_from_memory_and_in_chunks_are_served_under_the_filter_of_calls(params string[] flags)
    {
        using TempFolder folder = ServedFolder.Make();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--seccomp", "on", "--backend", "io_uring", .. flags]);
        for (int round = 0; round < 3; round++)
        {
            ServedFolder.AssertServed(server, folder);
        }

        await ServedFolder.AssertEndsWellAsync(server);
    }

    [Fact]
    public async Task With_registered_files_a_connection_that_is_kept_is_in_its_rings_table()
    {
        using TempFolder folder = ServedFolder.Make();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--seccomp", "on", "--backend", "io_uring", "--registered-files"]);
        ServedFolder.AssertServed(server, folder);
        await AwaitRegisteredAsync(server, sockets: 0);
        using (Wire kept = Wire.Open(server.Url))
        {
            Assert.Equal(200, kept.Ask("/text.txt").Status);
            await AwaitRegisteredAsync(server, sockets: 1);
            Assert.Equal(200, kept.Ask("/text.txt").Status);
        }

        await AwaitRegisteredAsync(server, sockets: 0);
        await ServedFolder.AssertEndsWellAsync(server);
    }

    private static async Task AwaitRegisteredAsync(ServerProcess server, int sockets)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(60));
        while (CountRegistered(server) != sockets)
        {
            await Task.Delay(5, deadline.Token);
        }
    }

    /// <summary>As the kernel shows the tables of the server's rings.</summary>
    private static int CountRegistered(ServerProcess server) => Directory.GetFiles($"/proc/{server.Id}/fd")
        .Where(static path => new FileInfo(path).LinkTarget == "anon_inode:[io_uring]")
        .Sum(static path => File.ReadAllText(path.Replace("/fd/", "/fdinfo/", StringComparison.Ordinal)).Split("socket:[").Length - 1);
}
