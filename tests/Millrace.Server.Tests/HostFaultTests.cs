using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>What a host can do to a server: too little memory to lock, a disk that goes away, a kernel that fails.</summary>
public class HostFaultTests
{
    /// <summary>Only processes without CAP_IPC_LOCK are held to the limit, and each user for all of theirs together.</summary>
    [Theory]
    [InlineData(8 * 1024, true)]
    [InlineData(128, false)]
    [Trait("Backend", "io_uring")]
    public async Task Where_little_memory_may_be_locked_rings_are_smaller(int kib, bool isEnough)
    {
        using var folder = new TempFolder();
        folder.Add("a.txt", 10);
        (string program, string[] arguments) = MayLock(kib, Serve(folder, "--backend", "io_uring", "--reactors", "2"));
        await using ServerProcess server = await ServerProcess.StartAsync(program, arguments, lastLine: "Serving ");

        Assert.Equal(200, Wire.Get(server.Url, "/a.txt").Status);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Equal(!isEnough, (await server.ErrorAsync()).Contains("'ulimit -l'", StringComparison.Ordinal));
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task Where_no_memory_may_be_locked_io_uring_that_is_configured_is_refused_with_what_to_raise()
    {
        using var folder = new TempFolder();
        folder.Add("a.txt", 10);

        (string program, string[] arguments) = MayLock(kib: 0, Serve(folder, "--backend", "io_uring", "--reactors", "2"));
        ToolResult result = await Tool.RunAsync(program, arguments);

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith("millrace: ", result.Error, StringComparison.Ordinal);
        Assert.Contains("'ulimit -l'", result.Error, StringComparison.Ordinal);
    }

    /// <summary>With 40 KiB the first rings have memory, and later ones have none.</summary>
    [Theory]
    [InlineData(0, "2")]
    [InlineData(40, "5")]
    [Trait("Backend", "io_uring")]
    public async Task Where_rings_find_no_memory_all_reactors_use_epoll_and_one_line_says_why(int kib, string reactors)
    {
        using var folder = new TempFolder();
        folder.Add("a.txt", 10);
        (string program, string[] arguments) = MayLock(kib, Serve(folder, "--reactors", reactors, "--admin", "127.0.0.1:0"));
        await using ServerProcess server = await ServerProcess.StartAsync(program, arguments, lastLine: "Serving ");

        Assert.Contains($" on epoll with {reactors} reactors", server.Lines[^1], StringComparison.Ordinal);
        Assert.Equal(200, Wire.Get(server.Url, "/a.txt").Status);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        string line = Assert.Single(LogText.WithoutEnd(await server.ErrorAsync()).TrimEnd('\n').Split('\n'));
        Assert.Contains(
            "io_uring found no memory to lock; serving on epoll instead. To use io_uring, raise the limit ('ulimit -l', ", line,
            StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task Where_no_memory_may_be_locked_doctor_says_that_epoll_is_used_and_what_to_raise()
    {
        (string program, string[] arguments) = MayLock(kib: 0, "doctor", Places.SampleSite, "--reactors", "2");
        ToolResult result = await Tool.RunAsync(program, arguments);

        Assert.Equal(1, result.ExitCode);
        Assert.Contains("io_uring found no memory to lock; epoll is used instead.", result.Output, StringComparison.Ordinal);
        Assert.Contains("Raise the limit ('ulimit -l', ", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_root_that_is_unmounted_is_served_as_it_was_until_it_is_back()
    {
        Tool.Require("unshare");
        Tool.Require("nsenter");
        using var folder = new TempFolder();
        string program = string.Join(' ', new[] { Publication.Program, folder.Root, "--listen", "127.0.0.1:0" }.Select(Quote));
        await using ServerProcess server = await ServerProcess.StartAsync(
            "unshare",
            ["--mount", "--map-root-user", "sh", "-c", $"{Mount(folder)} && echo one > a.txt && cd / && exec {program}"],
            lastLine: "Serving ");
        Assert.Equal("one\n"u8.ToArray(), Wire.Get(server.Url, "/a.txt").Body);

        await InsideAsync(server, $"umount --lazy {Quote(folder.Root)}");
        server.Signal(PosixSignal.SIGHUP);
        await Wire.AwaitAsync(server.Url, "/a.txt", static response => response.Status is 200 or 404);
        await InsideAsync(server, $"{Mount(folder)} && echo two > a.txt");
        server.Signal(PosixSignal.SIGHUP);

        await Wire.AwaitAsync(server.Url, "/a.txt", static response => response.Body.AsSpan().SequenceEqual("two\n"u8));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    /// <summary>The debugger makes the kernel refuse what a reactor asks of it, as it would for a ring that is broken.</summary>
    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task A_reactor_that_fails_ends_the_process_loudly()
    {
        Tool.Require("strace");
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--reactors", "2", "--backend", "io_uring");
        Task<ToolResult> strace = Tool.RunAsync(
            "strace", "-f", "-p", $"{server.Id}", "-o", "/dev/null", "-e", "trace=io_uring_enter", "-e", "inject=io_uring_enter:error=ENXIO");

        // A reactor that waits is woken by a connection, until one has died of it.
        Task<int> end = server.ExitCodeAsync();
        while (!end.IsCompleted)
        {
            await Record.ExceptionAsync(() => Task.Run(() => Wire.Get(server.Url, "/")));
            await Task.WhenAny(end, Task.Delay(50));
        }

        await strace;
        Assert.Equal(128 + 6, await end);
        string error = await server.ErrorAsync();
        Assert.Contains("io_uring_enter failed", error, StringComparison.Ordinal);
        Assert.Contains("the process ends", error, StringComparison.Ordinal);
    }

    private static string[] Serve(TempFolder folder, params string[] flags) =>
        [folder.Root, "--listen", "127.0.0.1:0", "--watch", "off", .. flags];

    /// <summary>A command line of the program that may lock so much.</summary>
    private static (string Program, string[] Arguments) MayLock(int kib, params string[] command)
    {
        Tool.Require("setpriv");
        Tool.Require("prlimit");
        string[] limited = ["prlimit", $"--memlock={kib * 1024L}:{kib * 1024L}", Publication.Program, .. command];
        return Environment.IsPrivilegedProcess ? ("setpriv", [.. AsSomebodyElse(), .. limited]) : (limited[0], limited[1..]);
    }

    /// <summary>
    /// A user of its own for each server: what the one before had locked is given back some time after its end. It may read what root may,
    /// wherever this is run.
    /// </summary>
    private static string[] AsSomebodyElse()
    {
        const string ReadsAll = "+dac_read_search,+dac_override";
        int user = 60_000 + Random.Shared.Next(4_000);
        return [$"--reuid={user}", "--clear-groups", $"--inh-caps=-all,{ReadsAll}", $"--ambient-caps=-all,{ReadsAll}"];
    }

    private static Task<string> InsideAsync(ServerProcess server, string command) => Tool.RunToSuccessAsync(
        TimeSpan.FromSeconds(30), "nsenter", "-t", $"{server.Id}", "--user", "--mount", "--preserve-credentials", "sh", "-c", command);

    private static string Mount(TempFolder folder) => $"mount -t tmpfs none {Quote(folder.Root)} && cd {Quote(folder.Root)}";

    private static string Quote(string text) => $"'{text}'";
}
