using System.Runtime.InteropServices;
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
    public async Task Files_from_memory_and_in_chunks_are_served_under_the_filter_of_calls(params string[] flags)
    {
        using var folder = new TempFolder();
        File.SetUnixFileMode(folder.Root, (UnixFileMode)0b111_101_101);
        folder.Add("text.txt", 100);
        folder.Add("large.bin", 3_000_000);
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--seccomp", "on", "--backend", "io_uring", .. flags]);
        for (int round = 0; round < 3; round++)
        {
            Assert.All((string[])["text.txt", "large.bin"], name =>
                Assert.Equal(File.ReadAllBytes(folder.PathOf(name)), Wire.Get(server.Url, $"/{name}").Body));
        }

        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.DoesNotContain("warn:", await server.ErrorAsync(), StringComparison.Ordinal);
    }
}
