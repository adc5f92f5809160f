using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests;

/// <summary>
/// The server in front of upstreams, with faults on both sides and of the kernel: each client gets the bytes of its own exchange's response,
/// or the server's error where an upstream gave a reason, or sees that the end is missing; upstreams get the requests that clients meant; all
/// of it ends by its deadlines, and nothing is left. With MILLRACE_SEED set it is that seed, and nothing else.
/// </summary>
public sealed class ProxySimulationTests(ITestOutputHelper output) : CampaignTest(output, hasUpstreams: true)
{
    [Fact]
    public void Hundreds_of_seeds_run_without_a_violation()
    {
        if (TryRunNamedSeed())
        {
            return;
        }

        Campaign campaign = RunFrom(1, Usual, long.MaxValue, runsMin: 250);
        Assert.True(campaign.Proxied >= 5_000, $"Only {campaign.Proxied} exchanges were proxied.");
    }

    [Fact]
    [Trait("Duration", "Long")]
    public void A_million_exchanges_are_proxied_without_a_violation() => AssertMillionProxiedFrom(firstSeed: 2_000_000_000);

    // A connection to an upstream that paused for its client served nobody after it.
    [Theory]
    [InlineData(51)]
    [InlineData(159)]
    [InlineData(223)]

    // The simulated upstream read no more of a request whose answer was to be faulty, and never began that answer.
    [InlineData(21)]
    [InlineData(203)]
    [InlineData(211)]

    // An upstream that was still taking a long request was given up as if it had all of it.
    [InlineData(230)]

    // The reset of a first attempt cut the answer of the second one.
    [InlineData(38)]
    [InlineData(314)]

    // The client took the page of a refusal for a next answer, as the upstream's would have had no content.
    [InlineData(270)]
    [InlineData(335)]

    // An answer with a length was expected to be chunked, as an attempt before it was malformed.
    [InlineData(487)]

    // A connection that had ended, which its paused handler found as it went on, served another exchange or was kept idle.
    [InlineData(2_000_001_787)]
    [InlineData(2_000_005_183)]
    [InlineData(2_000_010_753)]

    // A flood's one request was counted as if its client had sent it once.
    [InlineData(280)]

    // A next request came while the upstream still sent what was too much after a whole answer.
    [InlineData(440)]

    // A client that sends byte by byte acknowledged SETTINGS, or sent a body, behind everything else.
    [InlineData(217)]
    [InlineData(227)]

    // An upstream that hung, or read no more, was not known to, as another of its faults was the one that was named.
    [InlineData(2_000_003_247)]
    [InlineData(2_000_004_780)]
    [InlineData(2_000_005_617)]
    [InlineData(2_000_007_858)]
    [InlineData(2_000_010_883)]

    // An upstream hung so long after its answer had begun that its deadlines were thought to be over.
    [InlineData(2_000_004_781)]

    // A client that sends byte by byte opened its windows behind everything else: of streams, and of the connection.
    [InlineData(2_000_000_011)]
    [InlineData(2_000_003_014)]
    [InlineData(2_000_010_816)]
    [InlineData(2_000_000_091)]
    [InlineData(2_000_002_112)]
    [InlineData(2_000_010_867)]

    // A client was too slow by what it read, with its windows open.
    [InlineData(2_000_001_367)]

    // An upstream that took a body slowly was given up by the minimum rate of clients.
    [InlineData(3_000_005_429)]

    // A whole answer that nobody had asked for came after its connection served again.
    [InlineData(3_000_005_089)]

    // An upstream that had answered early did not read the request after the one it had not read to its end.
    [InlineData(5_000_010_755)]
    public void A_seed_that_found_a_fault_once_runs_without_a_violation(ulong seed) => AssertRuns(seed);
}
