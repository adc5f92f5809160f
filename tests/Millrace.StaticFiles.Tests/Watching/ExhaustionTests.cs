using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>
/// The kernel's own limits, of a user namespace of their own so that nobody else feels them: each test runs itself once more in there.
/// </summary>
public sealed class ExhaustionTests
{
    private const string Marker = "MILLRACE_TEST_IN_NAMESPACE";

    [Fact]
    public async Task Max_user_watches_is_named_and_the_site_is_revalidated()
    {
        if (await RunsOutsideAsync("max_inotify_watches", 12))
        {
            return;
        }

        using TempSite files = TempSite.InMemory();
        files.File("f.txt", "one");
        using var site = new LiveSite(files);
        Assert.Equal(WatchMode.Inotify, site.Watch.Mode);
        for (int i = 0; i < 20; i++)
        {
            files.File($"{i}/f.txt", "");
        }

        await TempSite.UntilAsync(() => site.Log.Lines(401).Any());
        Assert.Equal(WatchMode.Revalidate, site.Watch.Mode);
        Assert.Contains("fs.inotify.max_user_watches", Assert.Single(site.Log.Lines(401)), StringComparison.Ordinal);
        // What it held is free again for others.
        using TempSite more = TempSite.InMemory();
        await TempSite.UntilAsync(() =>
        {
            using var other = new LiveSite(more);
            return other.Watch.Mode == WatchMode.Inotify;
        });
    }

    [Fact]
    public async Task Max_user_instances_is_named_and_the_site_is_revalidated()
    {
        if (await RunsOutsideAsync("max_inotify_instances", 0))
        {
            return;
        }

        using TempSite files = TempSite.InMemory();
        using var site = new LiveSite(files);

        Assert.Equal(WatchMode.Revalidate, site.Watch.Mode);
        Assert.Contains("fs.inotify.max_user_instances", Assert.Single(site.Log.Entries).Text, StringComparison.Ordinal);
    }

    /// <summary>The kernel says EMFILE for both. In a process of its own, as other tests need descriptors.</summary>
    [Fact]
    public async Task A_lack_of_descriptors_is_not_taken_for_one_of_instances()
    {
        if (await RunsOutsideAsync("max_inotify_instances", 100))
        {
            return;
        }

        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit before));
        Assert.Equal(0, FileCalls.ExchangeDescriptorLimit(before with { Soft = 256 }, out _));
        var fillers = new Stack<int>();
        for (int filler; (filler = SocketCalls.EventDescriptor()) >= 0;)
        {
            fillers.Push(filler);
        }

        // Neither descriptor can be opened, then only the first.
        Assert.Equal((-Errno.EMFILE, false), (Inotify.TryCreate(out Inotify? none, out bool lacksInstances), lacksInstances));
        Assert.Null(none);
        Assert.Contains("256 descriptors", Errno.Describe(Errno.EMFILE), StringComparison.Ordinal);
        Assert.Equal(0, SocketCalls.Close(fillers.Pop()));
        Assert.Equal((-Errno.EMFILE, false), (Inotify.TryCreate(out none, out lacksInstances), lacksInstances));

        Assert.Equal(0, SocketCalls.Close(fillers.Pop()));
        Assert.Equal(0, Inotify.TryCreate(out Inotify? created, out _));
        created!.Dispose();
        while (fillers.TryPop(out int filler))
        {
            _ = SocketCalls.Close(filler);
        }
    }

    /// <summary>Outside: runs the calling test in a namespace with this limit, and says true. Inside: false.</summary>
    private static async Task<bool> RunsOutsideAsync(string limit, int value, [CallerMemberName] string test = "")
    {
        if (Environment.GetEnvironmentVariable(Marker) == test)
        {
            return false;
        }

        string set = string.Create(CultureInfo.InvariantCulture, $"echo {value} > /proc/sys/user/{limit} && exec \"$@\"");
        (int exitCode, string output) = await RunAsync(
            test, "unshare", "--user", "--map-root-user", "sh", "-c", set, "sh",
            Environment.ProcessPath!, "-method", $"{typeof(ExhaustionTests).FullName}.{test}", "-noColor");
        Assert.SkipWhen(output.StartsWith("unshare:", StringComparison.Ordinal), $"no user namespaces here: {output}");
        Assert.True(exitCode == 0 && output.Contains("Total: 1, Errors: 0, Failed: 0, Skipped: 0", StringComparison.Ordinal), output);
        return true;
    }

    private static async Task<(int ExitCode, string Output)> RunAsync(string test, string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        start.Environment[Marker] = test;
        try
        {
            using Process process = Process.Start(start)!;
            Task<string> errors = process.StandardError.ReadToEndAsync();
            string output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            return (process.ExitCode, await errors + output);
        }
        catch (Win32Exception missing) when (missing.NativeErrorCode == Errno.ENOENT)
        {
            return (-1, $"unshare: {missing.Message}");
        }
    }
}
