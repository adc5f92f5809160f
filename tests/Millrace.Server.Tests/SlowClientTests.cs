using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>
/// Three hundred clients that send their heads or bodies a few bytes at a time, or read so, as slowhttptest has them: others are served
/// meanwhile as if they were not there.
/// </summary>
public partial class SlowClientTests
{
    private const int Connections = 300;
    private const int LargeBytes = 16 * 1024 * 1024;

    /// <summary>A request on loopback takes less than a millisecond; this is for machines that are busy with other things.</summary>
    private static readonly TimeSpan Promptly = TimeSpan.FromSeconds(5);

    [Theory]
    [InlineData("-H", "index.html")]
    [InlineData("-B", "index.html")]
    [InlineData("-X", "large.bin")]
    public async Task Others_are_served_while_hundreds_are_slow(string attack, string target)
    {
        Report report = await AttackAsync(attack, target, seconds: 6);

        Assert.True(report.IsAvailable, report.Text);
        Assert.True(report.Connections == Connections || report.AllEnded, report.Text);
    }

    // Heads have 15 s, bodies nobody asked for at most 30, and deadlines are kept to a second.
    [Theory]
    [Trait("Duration", "Long")]
    [InlineData("-H", 17)]
    [InlineData("-B", 35)]
    public async Task Who_sends_too_slowly_is_ended_at_the_deadline(string attack, int secondsMax)
    {
        Report report = await AttackAsync(attack, "index.html", seconds: 60);

        Assert.True(report.IsAvailable, report.Text);
        Assert.True(report.AllEnded && report.Seconds <= secondsMax, report.Text);
    }

    private static async Task<Report> AttackAsync(string attack, string target, int seconds)
    {
        Tool.Require("slowhttptest");
        using var folder = new TempFolder();
        folder.Add("index.html", 10_000);
        folder.Add("large.bin", LargeBytes);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        int descriptors = server.CountDescriptors();

        Task<ToolResult> attacking = Tool.RunAsync(
            TimeSpan.FromSeconds(seconds + 30),
            "slowhttptest", attack, "-c", $"{Connections}", "-r", "1000", "-i", "2", "-x", "20", "-n", "1", "-w", "256", "-y", "512", "-z", "16", "-p", "3", "-l", $"{seconds}",
            "-u", new Uri(server.Url, target).ToString());
        TimeSpan slowest = await ServeOthersAsync(server.Url, attacking);
        ToolResult result = await attacking;

        Assert.True(slowest < Promptly, $"Somebody else waited for {slowest.TotalMilliseconds:N0} ms.\n{result.Output}");
        await AwaitDescriptorsAsync(server, descriptors);
        return new Report(Colours().Replace(result.Output, ""));
    }

    /// <summary>Asks again and again until the attack is over, and gives the longest wait for an answer.</summary>
    private static async Task<TimeSpan> ServeOthersAsync(Uri url, Task attack)
    {
        TimeSpan slowest = TimeSpan.Zero;
        int served = 0;
        do
        {
            long askedAt = Stopwatch.GetTimestamp();
            WireResponse response = Wire.Get(url, "/index.html");
            TimeSpan took = Stopwatch.GetElapsedTime(askedAt);
            Assert.Equal((200, 10_000), (response.Status, response.Body.Length));
            slowest = took > slowest ? took : slowest;
            served++;
            await Task.WhenAny(attack, Task.Delay(10));
        }
        while (!attack.IsCompleted);

        Assert.InRange(served, 2, int.MaxValue);
        return slowest;
    }

    /// <summary>The attackers are gone; what they had comes back when the server has noticed.</summary>
    private static async Task AwaitDescriptorsAsync(ServerProcess server, int wanted)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (server.CountDescriptors() > wanted)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < TimeSpan.FromSeconds(30), $"{server.CountDescriptors()} descriptors are open, {wanted} were");
            await Task.Delay(50);
        }
    }

    [GeneratedRegex(@"\e\[[0-9;]*m")]
    private static partial Regex Colours();

    /// <summary>What slowhttptest said.</summary>
    private sealed partial record Report(string Text)
    {
        /// <summary>The most connections it held at once.</summary>
        public int Connections => Connected().Matches(Text).Max(static match => int.Parse(match.Groups["count"].Value, CultureInfo.InvariantCulture));

        /// <summary>Whether its own probe was served to the end.</summary>
        public bool IsAvailable => Available().IsMatch(Text) && !Unavailable().IsMatch(Text);

        /// <summary>Whether the server ended all of them before the attack was over.</summary>
        public bool AllEnded => Text.Contains("No open connections left", StringComparison.Ordinal);

        /// <summary>When the attack was over.</summary>
        public int Seconds => int.Parse(Ended().Match(Text).Groups["second"].Value, CultureInfo.InvariantCulture);

        [GeneratedRegex(@"connected:\s*(?<count>\d+)")]
        private static partial Regex Connected();

        [GeneratedRegex(@"service available:\s*YES")]
        private static partial Regex Available();

        [GeneratedRegex(@"service available:\s*NO")]
        private static partial Regex Unavailable();

        [GeneratedRegex(@"Test ended on (?<second>\d+)")]
        private static partial Regex Ended();
    }
}
