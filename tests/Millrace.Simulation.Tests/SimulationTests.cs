using System.Globalization;
using Millrace.Engine.Buffers;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests;

/// <summary>
/// The whole server over a kernel that does the worst a kernel may, against peers that do the worst peers can, for as many seeds as there
/// is time. With MILLRACE_SEED set it is that seed, and nothing else.
/// </summary>
public sealed class SimulationTests(ITestOutputHelper output) : IAsyncLifetime
{
    /// <summary>What a suite of seconds can afford.</summary>
    private static readonly TimeSpan Usual = TimeSpan.FromSeconds(12);

    /// <summary>The long campaign is there in a quarter of it.</summary>
    private static readonly TimeSpan Long = TimeSpan.FromMinutes(15);

#if DEBUG
    /// <summary>This build takes five times as long, and checks more: lent blocks, and assertions.</summary>
    private const long LongConnections = 200_000;
#else
    private const long LongConnections = 1_000_000;
#endif

    private SimulatedSites _sites = null!;

    public async ValueTask InitializeAsync() => _sites = await SimulatedSites.OpenAsync();

    public async ValueTask DisposeAsync()
    {
        await _sites.EndAsync();
        _sites.Dispose();
    }

    [Fact]
    public void Thousands_of_seeds_run_without_a_violation()
    {
        if (ulong.TryParse(Environment.GetEnvironmentVariable("MILLRACE_SEED"), CultureInfo.InvariantCulture, out ulong seed))
        {
            RunReport report = SimulationRun.Run(seed, _sites);
            Assert.True(report.Violation is null, report.Violation?.ToString());
            return;
        }

        Campaign campaign = RunFrom(1, Usual, long.MaxValue, runsMin: 1_000);
        Assert.True(campaign.Runs >= 1_000, $"Only {campaign.Runs} seeds were run.");
    }

    [Fact]
    [Trait("Duration", "Long")]
    public void A_long_campaign_runs_without_a_violation()
    {
        Campaign campaign = RunFrom(1_000_000_000, Long, LongConnections);
        Assert.True(campaign.Connections >= LongConnections, $"Only {campaign.Connections} connections were there in time.");
    }

    // 1000012775: a client that received the SETTINGS slowly was refused, as it had not acknowledged them in time.
    // 1119: a connection was let in at the limit for one that was being refused, which does not count towards it.
    [Theory]
    [InlineData(1119)]
    [InlineData(1_000_012_775)]
    [InlineData(1_000_006_446)]
    [InlineData(1_000_072_267)]
    public void A_seed_that_found_a_fault_once_runs_without_a_violation(ulong seed) =>
        Assert.Null(SimulationRun.Run(seed, _sites).Violation?.ToString());

    [Fact]
    public void The_same_seed_is_the_same_run_to_the_last_event()
    {
        for (ulong seed = 1; seed <= 40; seed++)
        {
            Assert.Equal(SimulationRun.Run(seed, _sites).Digest, SimulationRun.Run(seed, _sites).Digest);
        }
    }

    private Campaign RunFrom(ulong firstSeed, TimeSpan most, long connections, long runsMin = 0)
    {
        BlockLeakDetector.Reports.Clear();
        var campaign = new Campaign(_sites, static kernel => kernel);
        campaign.Run(firstSeed, most, connections, runsMin);
        output.WriteLine(campaign.ToString());
        Publish(campaign);
        Assert.True(campaign.Violations.Count == 0, string.Join("\n\n", campaign.Violations));
        Assert.Equal([], BlockLeakDetector.Reports);
        return campaign;
    }

    private static void Publish(Campaign campaign)
    {
        Console.WriteLine(campaign);
        if (Environment.GetEnvironmentVariable("MILLRACE_ARTIFACTS") is { Length: > 0 } folder)
        {
            File.AppendAllText(Path.Combine(folder, "summary.txt"), $"{campaign}\n");
        }
    }
}
