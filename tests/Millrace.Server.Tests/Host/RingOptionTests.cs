using System.Runtime.Versioning;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary>Other ways of sending, in a server that gives up all it can.</summary>
[SupportedOSPlatform("linux")]
[Trait("Backend", "io_uring")]
public class RingOptionTests
{
    [Theory]
    [InlineData("--zero-copy-send", "1")]
    [InlineData("--zero-copy-send", "1", "--submission-polling", "20")]
    [InlineData("--registered-buffers", "256k")]
    [InlineData("--registered-buffers", "4m", "--zero-copy-send", "1", "--cache-max-file", "0")]
    [InlineData("--registered-buffers", "4m", "--zero-copy-send", "4k", "--submission-polling", "20")]
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
}
