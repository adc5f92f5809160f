namespace Millrace.Simulation.Tests.Runs;

/// <summary>What the clocks on the walls of a world show. A date's length in HPACK depends on its digits, so it has to follow from the seed.</summary>
internal sealed class WorldClock(World world) : TimeProvider
{
    /// <summary>Later than any file.</summary>
    private static readonly DateTimeOffset Beginning = new(2100, 1, 1, 0, 0, 0, TimeSpan.Zero);

    public override DateTimeOffset GetUtcNow() => Beginning.AddMilliseconds(world.NowMs);
}
