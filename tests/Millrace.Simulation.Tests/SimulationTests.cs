using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests;

/// <summary>
/// The whole server over a kernel that does the worst a kernel may, against peers that do the worst peers can, for as many seeds as there
/// is time. With MILLRACE_SEED set it is that seed, and nothing else.
/// </summary>
public sealed class SimulationTests(ITestOutputHelper output) : CampaignTest(output, hasUpstreams: false)
{
    /// <summary>The long campaign is there in a quarter of it.</summary>
    private static readonly TimeSpan Long = TimeSpan.FromMinutes(15);

#if DEBUG
    /// <summary>This build takes five times as long, and checks more: lent blocks, and assertions.</summary>
    private const long LongConnections = 200_000;
#else
    private const long LongConnections = 1_000_000;
#endif

    [Fact]
    public void Thousands_of_seeds_run_without_a_violation()
    {
        if (TryRunNamedSeed())
        {
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
    public void A_seed_that_found_a_fault_once_runs_without_a_violation(ulong seed) => AssertRuns(seed);
}
