using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;
using Millrace.Server.Host;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Host;

/// <summary>Notifications to a service manager.</summary>
public class NotifyTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_manager_is_notified_of_start_reload_and_stop(bool isAbstract)
    {
        using var parent = new ServiceParent(isAbstract);
        parent.Variables["NOTIFY_SOCKET"] = parent.NoticeAddress;
        await using ServerProcess server = await parent.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        string ready = $"READY=1\nSTATUS=Serving on {server.Addresses[0]}";
        Assert.Equal(ready, await parent.NoticeAsync());

        long before = MonotonicMicroseconds;
        server.Signal(PosixSignal.SIGHUP);
        Match reloading = Regex.Match(await parent.NoticeAsync(), @"^RELOADING=1\nMONOTONIC_USEC=(?<at>\d+)\nSTATUS=[^\n]+$");
        Assert.True(reloading.Success);
        Assert.InRange(long.Parse(reloading.Groups["at"].Value, CultureInfo.InvariantCulture), before, MonotonicMicroseconds);
        Assert.Equal(ready, await parent.NoticeAsync());

        server.Signal(PosixSignal.SIGTERM);
        Assert.StartsWith("STOPPING=1\n", await parent.NoticeAsync(), StringComparison.Ordinal);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    [Fact]
    public async Task Signs_of_life_come_while_the_reactors_turn()
    {
        using var parent = new ServiceParent();
        parent.Variables["NOTIFY_SOCKET"] = parent.NoticeAddress;
        parent.Variables["WATCHDOG_USEC"] = "200000";
        parent.Variables["WATCHDOG_PID"] = "$$";
        await using ServerProcess server = await parent.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.StartsWith("READY=1\n", await parent.NoticeAsync(), StringComparison.Ordinal);
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal("WATCHDOG=1", await parent.NoticeAsync());
        }

        server.Signal(PosixSignal.SIGTERM);
        Assert.StartsWith("STOPPING=1\n", await parent.NewsAsync(), StringComparison.Ordinal);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    [Fact]
    public async Task A_manager_that_does_not_listen_is_logged_once_and_the_server_serves()
    {
        using var parent = new ServiceParent();
        parent.Variables["NOTIFY_SOCKET"] = parent.NoticeAddress + "-gone";
        await using ServerProcess server = await parent.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.Single(LogText.WithoutEnd(await server.ErrorAsync()).TrimEnd('\n').Split('\n'));
    }

    [Theory]
    [InlineData("30000000", null, 30.0)]
    [InlineData("30000000", "7", 30.0)]
    [InlineData("30000000", "8", null)]
    [InlineData("0", null, null)]
    [InlineData("soon", null, null)]
    [InlineData(null, null, null)]
    public void A_watchdog_is_fed_where_one_waits_for_this_process(string? microseconds, string? process, double? seconds)
    {
        TimeSpan? period = NotifySocket.ReadWatchdog(
            name => name == "WATCHDOG_USEC" ? microseconds : name == "WATCHDOG_PID" ? process : null, processId: 7);
        Assert.Equal(seconds, period?.TotalSeconds);
    }

    /// <summary>The server's clock, which on Linux is one for all processes.</summary>
    private static long MonotonicMicroseconds => (long)Stopwatch.GetElapsedTime(0).TotalMicroseconds;
}
