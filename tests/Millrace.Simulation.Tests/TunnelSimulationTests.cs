using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests;

/// <summary>
/// As <see cref="ProxySimulationTests"/>, with clients that ask for WebSockets, by Upgrade or by extended CONNECT: each direction of a tunnel
/// has the bytes of its writer, all of them where it ends in order, and no end but for a reason; refusals are answers as any.
/// </summary>
public sealed class TunnelSimulationTests(ITestOutputHelper output) : CampaignTest(output, hasUpstreams: true, hasTunnels: true)
{
    [Fact]
    public void Hundreds_of_seeds_run_without_a_violation()
    {
        if (TryRunNamedSeed())
        {
            return;
        }

        Campaign campaign = RunFrom(1, Usual, long.MaxValue, runsMin: 250);
        Assert.True(campaign.Tunnels >= 1_000, $"Only {campaign.Tunnels} tunnels were asked for.");
    }

    [Fact]
    [Trait("Duration", "Long")]
    public void A_million_exchanges_with_tunnels_among_them_run_without_a_violation() => AssertMillionProxiedFrom(firstSeed: 7_000_000_000);
}
