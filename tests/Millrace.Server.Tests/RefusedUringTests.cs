using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Where io_uring is refused everything is served by epoll, and one line says why. The filter is the tests' own.</summary>
public class RefusedUringTests
{
    private const int LargeBytes = 40_000_000;

    private static readonly string[] Everything = [];

    [Fact]
    public async Task Everything_is_served_and_one_line_names_cause_and_remedy()
    {
        await using ServerProcess server = await RefusedUring.StartAsync(Everything, Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.Contains(" on epoll with ", server.Lines[^1], StringComparison.Ordinal);
        Assert.DoesNotContain("io_uring", string.Concat(server.Lines), StringComparison.Ordinal);
        using (Wire wire = Wire.Open(server.Url))
        {
            foreach (string target in Places.SampleTargets)
            {
                WireResponse response = wire.Ask(target);
                Assert.True(response.Status is 200 or 301 or 308, $"{target}: {response.Head}");
                Assert.True(response.Status != 200 || response.Body.AsSpan().SequenceEqual(File.ReadAllBytes(Places.SampleSite + target)), target);
            }
        }

        string line = await EndAsync(server);
        Assert.Single(line.TrimEnd('\n').Split('\n'));
        foreach (string word in (string[])["seccomp", "serving on epoll", "allow io_uring_setup, io_uring_enter and io_uring_register"])
        {
            Assert.Contains(word, line, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task With_epoll_configured_it_logs_nothing_and_reads_files_of_every_size()
    {
        using var folder = new TempFolder();
        byte[] large = folder.Add("large.bin", LargeBytes);
        byte[] middle = folder.Add("middle.bin", 200_000);
        await using ServerProcess server = await RefusedUring.StartAsync(
            Everything, folder.Root, "--listen", "127.0.0.1:0", "--backend", "epoll", "--cache-max-file", "1k");
        for (int i = 0; i < 2; i++)
        {
            Assert.True(Wire.Get(server.Url, "/large.bin").Body.AsSpan().SequenceEqual(large));
            Assert.True(Wire.Get(server.Url, "/middle.bin").Body.AsSpan().SequenceEqual(middle));
            WireResponse part = Wire.Get(server.Url, "/large.bin", "Range: bytes=39000000-");
            Assert.Equal(206, part.Status);
            Assert.True(part.Body.AsSpan().SequenceEqual(large.AsSpan(39_000_000)));
        }

        Assert.Equal("", await EndAsync(server));
    }

    /// <summary>13 EACCES, 22 EINVAL, 38 ENOSYS, 95 EOPNOTSUPP.</summary>
    [Theory]
    [InlineData("13", "setup", "seccomp")]
    [InlineData("22", "setup", "this kernel")]
    [InlineData("38", "setup", "seccomp")]
    [InlineData("95", "setup", "sandbox")]
    public Task However_it_is_refused_epoll_takes_over(string errno, string call, string cause) => FallBackAsync(errno, call, cause);

    [Theory]
    [Trait("Backend", "io_uring")]
    [InlineData("1", "register", "seccomp")]
    [InlineData("22", "register", "provided-buffer rings")]
    [InlineData("1", "enter", "self-test")]
    public Task Where_a_ring_can_be_had_and_not_used_epoll_takes_over(string errno, string call, string cause) =>
        FallBackAsync(errno, call, cause);

    /// <summary>12 ENOMEM.</summary>
    [Fact]
    public Task Where_there_is_no_memory_to_lock_epoll_takes_over() => FallBackAsync("12", "setup", "ulimit -l");

    /// <summary>24 EMFILE: epoll needs descriptors too.</summary>
    [Fact]
    public async Task A_lack_of_descriptors_is_an_error_and_no_reason_for_epoll()
    {
        ToolResult result = await RefusedUring.RunAsync(
            ["--errno", "24", "--only", "setup"], Places.SampleSite, "--listen", "127.0.0.1:0");
        result.AssertRefused(1, "ulimit -n");
    }

    [Fact]
    public async Task With_io_uring_configured_it_does_not_start_and_says_what_to_allow()
    {
        ToolResult result = await RefusedUring.RunAsync(
            Everything, Places.SampleSite, "--listen", "127.0.0.1:0", "--backend", "io_uring");
        result.AssertRefused(1, "seccomp", "io_uring_setup");
    }

    private static async Task FallBackAsync(string errno, string call, string cause)
    {
        await using ServerProcess server = await RefusedUring.StartAsync(
            ["--errno", errno, "--only", call], Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.Contains(" on epoll with ", server.Lines[^1], StringComparison.Ordinal);
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        string line = await EndAsync(server);
        Assert.Single(line.TrimEnd('\n').Split('\n'));
        Assert.Contains(cause, line, StringComparison.Ordinal);
    }

    /// <summary>Stops it and returns its log before the end.</summary>
    private static async Task<string> EndAsync(ServerProcess server)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        return LogText.WithoutEnd(await server.ErrorAsync());
    }
}
