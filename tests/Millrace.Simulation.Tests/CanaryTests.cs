using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Canaries;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests;

/// <summary>Bugs that servers of this kind have had, planted: a simulator that does not find them would prove nothing by finding none.</summary>
public sealed class CanaryTests(ITestOutputHelper output) : IAsyncLifetime
{
    /// <summary>Each is found in a second or two on an idle machine.</summary>
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(30);

    private SimulatedSites _sites = null!;

    public async ValueTask InitializeAsync() => _sites = await SimulatedSites.OpenAsync();

    public ValueTask DisposeAsync()
    {
        // Not ended: a run whose reactor was held for good keeps what it had.
        _sites.Dispose();
        return default;
    }

    [Fact]
    public void A_connection_recycled_with_its_send_in_flight_is_found() =>
        Find(
            static kernel => new RecyclesWithSendInFlight(kernel),
            "The memory of a Send was changed while it was the kernel's.", "A foreign byte", "Answer", "The run stalls", "Slot", "A filter is used");

    [Fact]
    public void A_reactor_that_ignores_generations_is_found() =>
        // Foreign bytes, an end, a send that was none: it depends on what is taken for the present connection's.
        Find(static kernel => new IgnoresGenerations(kernel), "");

    [Fact]
    public void A_lack_of_buffers_taken_for_the_end_of_the_stream_is_found() =>
        Find(static kernel => new TakesNoBuffersForEnd(kernel), "The connection ended before", "The connection was reset");

    [Fact]
    public void A_receive_that_is_not_armed_again_is_found() =>
        Find(static kernel => new LosesAReceive(kernel), "No byte came", "The connection", "The run stalls", "Reactor 0 stops", "Slot");

    [Fact]
    public void A_place_that_is_not_given_back_is_found() =>
        Find(
            static kernel => new LeaksALease(kernel),
            "A connection was shed below the limits", "A connection is refused below the limits", "The connection limiter still counts");

    [Fact]
    public void A_credit_that_renews_itself_is_found() =>
        Find(static kernel => new RenewsCredit(kernel), "No byte was taken for", "Too little is taken", "The connection of a peer that stopped");

    [Fact]
    public void An_old_body_under_a_new_head_is_found() =>
        // One that is shorter than its head says ends in a reset.
        Find(static kernel => new ReadsAnOldRelease(kernel), "Answer", "Stream", "The connection was reset");

    /// <summary>Runs seeds until the bug shows, and then its seed again: it shows again, at the same event.</summary>
    private void Find(Func<SimulatedBackend, Backend> plant, params string[] expected)
    {
        var campaign = new Campaign(_sites, plant);
        campaign.Run(1, Soon, long.MaxValue);
        Assert.NotEmpty(campaign.Violations);
        // Of two at once, whoever comes last ends later: the lowest is the same each time.
        Violation found = campaign.Violations.MinBy(static violation => violation.Seed)!;
        output.WriteLine($"After {campaign.Runs} runs:\n{found}");
        Assert.Contains(expected, what => found.What.StartsWith(what, StringComparison.Ordinal));

        Violation? again = SimulationRun.Run(found.Seed, _sites, plant).Violation;
        Assert.Equal(found.Trace, again?.Trace);
        Assert.Null(SimulationRun.Run(found.Seed, _sites).Violation);
    }
}
