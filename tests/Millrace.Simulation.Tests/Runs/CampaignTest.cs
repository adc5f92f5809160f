using System.Globalization;
using Millrace.Engine.Buffers;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>A test that runs seeds. With MILLRACE_SEED set it is that seed, and nothing else.</summary>
public abstract class CampaignTest(ITestOutputHelper output, bool hasUpstreams, bool hasTunnels = false) : IAsyncLifetime
{
    /// <summary>What a suite of seconds can afford.</summary>
    private protected static readonly TimeSpan Usual = TimeSpan.FromSeconds(12);

    private static readonly TimeSpan Long = TimeSpan.FromMinutes(30);

#if DEBUG
    private const long LongExchanges = 200_000;
#else
    private const long LongExchanges = 1_000_000;
#endif

    private SimulatedSites _sites = null!;

    public async ValueTask InitializeAsync() => _sites = await SimulatedSites.OpenAsync();

    public async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        await _sites.EndAsync();
        _sites.Dispose();
    }

    [Fact]
    public void The_same_seed_is_the_same_run_to_the_last_event()
    {
        for (ulong seed = 1; seed <= 12; seed++)
        {
            Assert.Equal(RunOf(seed).Digest, RunOf(seed).Digest);
        }
    }

    /// <summary>Runs the seed that the environment names; false if it names none.</summary>
    private protected bool TryRunNamedSeed()
    {
        bool isNamed = ulong.TryParse(Environment.GetEnvironmentVariable("MILLRACE_SEED"), CultureInfo.InvariantCulture, out ulong seed);
        if (isNamed)
        {
            AssertRuns(seed);
        }

        return isNamed;
    }

    private protected void AssertRuns(ulong seed)
    {
        Violation? violation = RunOf(seed).Violation;
        Assert.True(violation is null, violation?.ToString());
    }

    /// <summary>Runs seeds until there was enough, or for so long; at least so many. The environment may name another first seed.</summary>
    private protected Campaign RunFrom(ulong firstSeed, TimeSpan most, long enough, long runsMin = 0)
    {
        if (ulong.TryParse(Environment.GetEnvironmentVariable("MILLRACE_FIRST_SEED"), CultureInfo.InvariantCulture, out ulong named))
        {
            firstSeed = named;
        }

        BlockLeakDetector.Reports.Clear();
        var campaign = new Campaign(_sites, static kernel => kernel, hasUpstreams, hasTunnels);
        campaign.Run(firstSeed, most, enough, runsMin);
        output.WriteLine(campaign.ToString());
        Publish(campaign);
        Assert.True(campaign.Violations.Count == 0, string.Join("\n\n", campaign.Violations));
        Assert.Equal([], BlockLeakDetector.Reports);
        return campaign;
    }

    /// <summary>Runs seeds until a million exchanges were proxied, or a fifth of them in a Debug build.</summary>
    private protected void AssertMillionProxiedFrom(ulong firstSeed)
    {
        Campaign campaign = RunFrom(firstSeed, Long, LongExchanges);
        Assert.True(campaign.Proxied >= LongExchanges, $"Only {campaign.Proxied} exchanges were there in time.");
    }

    private static void Publish(Campaign campaign)
    {
        Console.WriteLine(campaign);
        if (Environment.GetEnvironmentVariable("MILLRACE_ARTIFACTS") is { Length: > 0 } folder)
        {
            File.AppendAllText(Path.Combine(folder, "summary.txt"), $"{campaign}\n");
        }
    }

    private RunReport RunOf(ulong seed) => SimulationRun.Run(seed, _sites, static kernel => kernel, hasUpstreams, hasTunnels);
}
