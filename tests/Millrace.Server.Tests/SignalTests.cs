using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Host;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

public class SignalTests
{
    private const int LargeBytes = 16 * 1024 * 1024;

    /// <summary>SIGUSR1, for which .NET has no name.</summary>
    private const PosixSignal Rotate = (PosixSignal)10;

    private const string DrainSeconds = "300";

    /// <summary>Far below the drain.</summary>
    private static readonly TimeSpan Promptly = TimeSpan.FromSeconds(60);

    [Theory]
    [InlineData(PosixSignal.SIGTERM)]
    [InlineData(PosixSignal.SIGINT)]
    public async Task A_signal_ends_an_idle_server_at_once(PosixSignal signal)
    {
        using var folder = new TempFolder();
        string socket = folder.PathOf("m.sock");
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--listen", $"unix:{socket}");
        Assert.True(File.Exists(socket));

        server.Signal(signal);

        Assert.Equal(0, await server.ExitCodeAsync().WaitAsync(Promptly));
        Assert.False(File.Exists(socket));
        LogText.AssertOrderlyEnd(await server.ErrorAsync());
    }

    [Theory]
    [InlineData(PosixSignal.SIGTERM)]
    [InlineData(PosixSignal.SIGINT)]
    public async Task A_signal_lets_downloads_finish_and_ends_idle_connections(PosixSignal signal)
    {
        using var folder = new TempFolder();
        byte[] bytes = folder.Add("large.bin", LargeBytes);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--drain", DrainSeconds);
        using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin"));
        using Socket idle = await OpenIdleAsync(server.Url);
        long startedAt = Stopwatch.GetTimestamp();

        server.Signal(signal);

        Assert.Equal(0, await idle.ReceiveAsync(new byte[1]).WaitAsync(Promptly));
        idle.Dispose();
        byte[] response = await download.ReadToEndAsync();
        Assert.True(response.AsSpan().EndsWith(bytes), "The download was cut off.");
        download.Dispose();
        Assert.Equal(0, await server.ExitCodeAsync().WaitAsync(Promptly));
        Assert.True(Stopwatch.GetElapsedTime(startedAt) < Promptly);
        string log = await server.ErrorAsync();
        LogText.AssertOrderlyEnd(log);
        Assert.Contains($"Draining: 2 open connections; in-flight requests get {DrainSeconds} s to finish.", log, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(PosixSignal.SIGTERM, 128 + 15)]
    [InlineData(PosixSignal.SIGINT, 128 + 2)]
    public async Task A_second_signal_ends_it_at_once(PosixSignal signal, int exitCode)
    {
        using var folder = new TempFolder();
        folder.Add("large.bin", LargeBytes);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--drain", DrainSeconds);
        using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin"));
        using Socket idle = await OpenIdleAsync(server.Url);
        server.Signal(signal);
        Assert.Equal(0, await idle.ReceiveAsync(new byte[1]).WaitAsync(Promptly));

        // Sleeps: a signal that follows at once is the first one again.
        await Task.Delay(2 * StopSignal.SameSignal);
        server.Signal(signal);

        Assert.Equal(exitCode, await server.ExitCodeAsync().WaitAsync(Promptly));
        Assert.EndsWith("Second signal: stopping at once.\n", await server.ErrorAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_signal_that_timeout_sends_to_the_child_and_its_group_counts_once()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");

        server.Signal(PosixSignal.SIGTERM);
        server.Signal(PosixSignal.SIGTERM);

        Assert.Equal(0, await server.ExitCodeAsync().WaitAsync(Promptly));
        LogText.AssertOrderlyEnd(await server.ErrorAsync());
    }

    [Fact]
    public void A_second_signal_counts_after_a_while()
    {
        var clock = new ScriptedClock(DateTimeOffset.UnixEpoch);
        var ends = new List<bool>();
        using var stop = new StopSignal(ends.Add, mayDrain: true, clock);
        Assert.True(stop.IsHandled());
        Assert.True(stop.Requested.IsCompletedSuccessfully);
        clock.Advance(StopSignal.SameSignal - TimeSpan.FromMilliseconds(1));
        Assert.True(stop.IsHandled());
        Assert.Empty(ends);
        clock.Advance(TimeSpan.FromMilliseconds(1));
        Assert.False(stop.IsHandled());
        Assert.Equal([true], ends);
    }

    [Fact]
    public void A_signal_before_there_is_something_to_drain_ends_the_process()
    {
        var ends = new List<bool>();
        using var stop = new StopSignal(ends.Add, mayDrain: false);
        Assert.False(stop.IsHandled());
        Assert.Equal([false], ends);
        stop.MayDrain();
        Assert.True(stop.IsHandled());
        Assert.True(stop.Requested.IsCompletedSuccessfully);
    }

    [Fact]
    public async Task A_signal_during_the_start_is_logged()
    {
        using var folder = new TempFolder();
        for (int i = 0; i < 4_000; i++)
        {
            folder.Add($"{i}.txt", 10);
        }

        int exitCode = 0;
        // One that was serving already drains: then another is started.
        for (int i = 0; i < 20 && exitCode == 0; i++)
        {
            await using ServerProcess server = ServerProcess.Launch(Publication.Program, [folder.Root, "--listen", "127.0.0.1:0"]);
            Assert.True(SpinWait.SpinUntil(() => server.Catches(PosixSignal.SIGHUP), Promptly));
            server.Signal(PosixSignal.SIGTERM);
            exitCode = await server.ExitCodeAsync().WaitAsync(Promptly);
            Assert.EndsWith(
                exitCode == 0 ? "Stopped.\n" : "Stopped by a signal before serving.\n", await server.ErrorAsync(), StringComparison.Ordinal);
        }

        Assert.Equal(128 + 15, exitCode);
    }

    /// <summary>The clients keep their own ends open: to wait for them would take two seconds.</summary>
    [Fact]
    public async Task Idle_connections_do_not_hold_up_the_end()
    {
        var linger = TimeSpan.FromSeconds(2);
        var soonest = TimeSpan.MaxValue;
        // The best of some: others have the machine too.
        for (int i = 0; i < 10 && soonest >= linger; i++)
        {
            await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
            Socket[] idle = await Task.WhenAll(Enumerable.Range(0, 10).Select(_ => OpenIdleAsync(server.Url)));
            long startedAt = Stopwatch.GetTimestamp();

            server.Signal(PosixSignal.SIGTERM);

            Assert.Equal(0, await server.ExitCodeAsync());
            TimeSpan took = Stopwatch.GetElapsedTime(startedAt);
            soonest = took < soonest ? took : soonest;
            foreach (Socket socket in idle)
            {
                Assert.Equal(0, await socket.ReceiveAsync(new byte[1]).WaitAsync(Promptly));
                socket.Dispose();
            }
        }

        Assert.True(soonest < linger, $"{soonest}");
    }

    [Theory]
    [InlineData("0")]
    [InlineData("1")]
    public async Task What_outlasts_the_drain_is_reset_and_the_end_is_orderly(string seconds)
    {
        using var folder = new TempFolder();
        folder.Add("large.bin", LargeBytes);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--drain", seconds);
        using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin"));

        server.Signal(PosixSignal.SIGTERM);

        Assert.Equal(0, await server.ExitCodeAsync().WaitAsync(Promptly));
        await Assert.ThrowsAnyAsync<Exception>(download.ReadToEndAsync);
    }

    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task A_reload_asked_for_while_a_large_site_is_opened_is_done_afterwards()
    {
        using var folder = new TempFolder();
        for (int i = 0; i < 4_000; i++)
        {
            folder.Add($"{i}.txt", 10);
        }

        await using ServerProcess server = await StartSignalledAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--watch", "off", "--backend", "io_uring"], PosixSignal.SIGHUP);
        await server.ReadyAsync();
        await server.AwaitErrorAsync(": 4000 files.");
        folder.Add("new.txt", 20);
        server.Signal(PosixSignal.SIGHUP);
        await Wire.AwaitAsync(server.Url, "/new.txt", static response => response.Status == 200);
        await server.AwaitErrorAsync(": 4001 files.");
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    /// <summary>logrotate does not ask whether a server is only being started.</summary>
    [Fact]
    [Trait("Backend", "io_uring")]
    public async Task A_log_that_is_renamed_while_a_large_site_is_opened_is_left_behind_afterwards()
    {
        using var folder = new TempFolder();
        using var logs = new TempFolder();
        string log = logs.PathOf("access.log");
        for (int i = 0; i < 8_000; i++)
        {
            folder.Add($"{i}.txt", 10);
        }

        await using ServerProcess server = await StartSignalledAsync(
            [folder.Root, "--listen", "127.0.0.1:0", "--access-log", log, "--backend", "io_uring"],
            Rotate,
            () =>
            {
                Assert.True(SpinWait.SpinUntil(() => File.Exists(log), Promptly));
                File.Move(log, log + ".1", overwrite: true);
            });
        await server.ReadyAsync();
        Assert.Equal(200, Wire.Get(server.Url, "/1.txt").Status);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Single(await File.ReadAllLinesAsync(log));
        Assert.Empty(await File.ReadAllLinesAsync(log + ".1"));
    }

    /// <summary>One that was sent a signal before it was open; where that was too late, because others have the machine too, another.</summary>
    private static async Task<ServerProcess> StartSignalledAsync(string[] arguments, PosixSignal signal, Action? before = null)
    {
        for (int i = 0; i < 20; i++)
        {
            ServerProcess server = ServerProcess.Launch(Publication.Program, arguments);
            Assert.True(SpinWait.SpinUntil(() => server.Catches(signal), Promptly));
            before?.Invoke();
            server.Signal(signal);
            if (!server.HasRings())
            {
                return server;
            }

            await server.DisposeAsync();
        }

        throw new InvalidOperationException("It was open already each time: the test proves nothing.");
    }

    /// <summary>A connection whose first request was answered.</summary>
    private static async Task<Socket> OpenIdleAsync(Uri url)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(url.Host, url.Port);
        await socket.SendAsync(Encoding.ASCII.GetBytes("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"));
        byte[] response = new byte[4096];
        int count = 0;
        while (!response.AsSpan(0, count).EndsWith("\r\n\r\n"u8))
        {
            int read = await socket.ReceiveAsync(response.AsMemory(count)).AsTask().WaitAsync(Promptly);
            Assert.NotEqual(0, read);
            count += read;
        }

        return socket;
    }
}
