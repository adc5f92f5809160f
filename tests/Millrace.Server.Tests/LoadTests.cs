using System.Diagnostics;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

public partial class LoadTests
{
    /// <summary>
    /// Pools keep what a peak of 512 connections took, and a slow machine reaches it late: some loads add nothing to speak of, or all do.
    /// A leak of a byte per request would pass, one of a block would not.
    /// </summary>
    private const int LoadsMost = 6;
    private const int AddedKibMost = 8 * 1024;

    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Theory]
    [InlineData("index.html")]
    [InlineData("images/dawn-wide.jpg")]
    public async Task Five_hundred_connections_see_no_error_and_leave_nothing_behind(string target)
    {
        Tool.Require("wrk");
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        Uri url = new(server.Url, target);
        int descriptors = server.CountDescriptors();
        int addedKib = int.MaxValue;
        for (int load = 0; load < LoadsMost && addedKib > AddedKibMost; load++)
        {
            int kibBefore = server.ResidentKib();
            await LoadAsync(url, seconds: 2);
            await WaitForDescriptorsAsync(server, descriptors);
            addedKib = server.ResidentKib() - kibBefore;
        }

        Assert.InRange(addedKib, int.MinValue, AddedKibMost);
    }

    [Fact]
    public async Task Resets_leave_no_descriptor_behind()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        int descriptors = server.CountDescriptors();
        for (int i = 0; i < 300; i++)
        {
            // Closed with most of the answer unread, which is a reset.
            using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "images/dawn-large.jpg"));
        }

        await WaitForDescriptorsAsync(server, descriptors);
    }

    private static async Task LoadAsync(Uri url, int seconds)
    {
        string report = await Tool.RunToSuccessAsync(Deadline, "wrk", "-t1", "-c512", $"-d{seconds}s", "--timeout", "10s", url.ToString());

        Assert.DoesNotContain("Socket errors", report, StringComparison.Ordinal);
        Assert.DoesNotContain("Non-2xx", report, StringComparison.Ordinal);
        Assert.InRange(int.Parse(Requests().Match(report).Groups["count"].Value), 512, int.MaxValue);
    }

    /// <summary>
    /// Closed connections linger for a moment. Fewer may be left than there were: at its start the server still compresses files.
    /// </summary>
    private static async Task WaitForDescriptorsAsync(ServerProcess server, int most)
    {
        long startedAt = Stopwatch.GetTimestamp();
        int count;
        while ((count = server.CountDescriptors()) > most)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Deadline, $"{count} descriptors are open, {most} were.");
            await Task.Delay(20);
        }
    }

    [GeneratedRegex(@"(?<count>\d+) requests in ")]
    private static partial Regex Requests();
}
