using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Memory after a peak, and what a flood may take with an access log.</summary>
public class IdleMemoryTests(ITestOutputHelper output)
{
    private static readonly TimeSpan Peak = TimeSpan.FromSeconds(2);

    /// <summary>What stays is compiled code, and what the collector starts with.</summary>
    private const int LeftKibMost = 20 * 1024;

    private const int PeakKibLeast = 24 * 1024;

    [Fact]
    public async Task What_a_peak_has_taken_is_given_back_when_it_is_over()
    {
        using var folder = new TempFolder();
        folder.Add("small.bin", 1_000);
        folder.Add("large.bin", 16 * 1024 * 1024);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        int before = server.ResidentKib();
        await using (Flood.OfDownloads(server.Url, 100, "/large.bin"))
        await using (Flood.OfPipelines(server.Url, 50, "/small.bin"))
        await using (Flood.OfHeads(server.Url, 50, 1_000, "/small.bin"))
        {
            // Sleeps: the peak lasts for as long.
            await Task.Delay(Peak, TestContext.Current.CancellationToken);
            using var patience = new CancellationTokenSource(TimeSpan.FromMinutes(2));
            while (server.ResidentKib() < before + PeakKibLeast)
            {
                await Task.Delay(100, patience.Token);
            }
        }

        int peak = server.ResidentKib();
        using var deadline = new CancellationTokenSource(TimeSpan.FromMinutes(2));
        while (server.ResidentKib() > before + LeftKibMost)
        {
            await Task.Delay(100, deadline.Token);
        }

        output.WriteLine($"RSS {before:N0} KiB before, {peak:N0} KiB after the peak, {server.ResidentKib():N0} KiB when it was over");
        WireResponse response = Wire.Get(server.Url, "/small.bin");
        Assert.Equal((200, 1_000), (response.Status, response.Body.Length));
    }

    [Theory]
    [InlineData("combined")]
    [InlineData("json")]
    public async Task A_flood_takes_as_much_memory_with_an_access_log_as_without_and_its_rings(string format)
    {
        // Of 50 connections 256 records each, and of two reactors and their writer some megabytes of lines.
        const int LogKibMost = 48 * 1024;
        using var folder = new TempFolder();
        folder.Add("small.bin", 1_000);
        int without = await PeakKibAsync(folder, []);
        int with = await PeakKibAsync(folder, ["--access-log", "/dev/null", "--access-log-format", format]);
        output.WriteLine($"RSS {without:N0} KiB without, {with:N0} KiB with an access log ({format})");
        Assert.InRange(with, 0, without + LogKibMost);
    }

    private static async Task<int> PeakKibAsync(TempFolder folder, string[] flags)
    {
        await using ServerProcess server = await ServerProcess.StartAsync([folder.Root, "--listen", "127.0.0.1:0", .. flags]);
        await using Flood flood = Flood.OfHeads(server.Url, 50, 10_000, "/small.bin");
        int peak = 0;
        for (int check = 0; check < 20; check++)
        {
            await Task.Delay(Peak / 20, TestContext.Current.CancellationToken);
            peak = Math.Max(peak, server.ResidentKib());
        }

        return peak;
    }
}
