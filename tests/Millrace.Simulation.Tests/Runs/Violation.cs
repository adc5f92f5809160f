namespace Millrace.Simulation.Tests.Runs;

/// <summary>An invariant that did not hold, with what led to it.</summary>
internal sealed record Violation(ulong Seed, int Connection, string What, string Trace)
{
    public override string ToString() =>
        $"""
         seed {Seed}, connection #{Connection}: {What}
         {Trace}
         Replay: MILLRACE_SEED={Seed} ./test Simulation
         """;
}
