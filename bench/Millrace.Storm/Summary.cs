using Millrace.Storm.Judging;

namespace Millrace.Storm;

/// <summary>What came of it, for people.</summary>
internal static class Summary
{
    private const int FaultsShown = 10;

    /// <summary>Returns the exit code: 1 where anything failed.</summary>
    public static int Print(Tally tally, StormOptions options)
    {
        Console.WriteLine($"{"seen after",-20}{"count",8}{"p50",10}{"p99",10}{"max",10}");
        foreach (Delays delays in tally.Delays)
        {
            Console.WriteLine(
                $"{delays.Kind,-20}{delays.Ms.Length,8}{delays.Quantile(0.5),7:f1} ms{delays.Quantile(0.99),7:f1} ms{delays.Ms[^1],7:f1} ms");
        }

        string[] kinds = ["200", "206", "304", "404", "416", "cut", "cut for another", "seen while written in place"];
        Console.WriteLine($"{tally.CountOf("answers"):n0} answers, {tally.CountOf("bytes") / 1e9:f2} GB: "
            + string.Join(", ", kinds.Select(kind => $"{tally.CountOf(kind):n0} {kind}")));
        foreach (string fault in tally.Faults.Take(FaultsShown))
        {
            Console.WriteLine($"FAULT {fault}");
        }

        // A mixed or stale answer is a failed one: whatever is no state of its path is a fault.
        Console.WriteLine($"{tally.Faults.Count} failed (seed {options.Seed})");
        return tally.Faults.Count == 0 ? 0 : 1;
    }
}
