namespace Millrace.Engine.Listening;

/// <summary>The limit because of which a connection was turned away, or ended for another one.</summary>
internal enum TurnedAwayCause
{
    /// <summary>Of all connections.</summary>
    Connections,

    ConnectionsPerClient,

    Memory,

    Descriptors,
}

/// <summary>Counts connections that were turned away, by cause. Any thread.</summary>
internal sealed class TurnedAwayConnections(Limits limits)
{
    private static readonly TurnedAwayCause[] Causes = Enum.GetValues<TurnedAwayCause>();

    private readonly long[] _counts = new long[Causes.Length];

    public void Add(TurnedAwayCause cause) => Interlocked.Increment(ref _counts[(int)cause]);

    /// <summary>Logs the number since the last line, with what to raise: by cause if there were several.</summary>
    public void LogAndReset(EngineLog log)
    {
        long all = 0;
        var causes = new List<(long Count, string Clause)>();
        var raised = new List<string>();
        foreach (TurnedAwayCause cause in Causes)
        {
            long count = Interlocked.Exchange(ref _counts[(int)cause], 0);
            if (count > 0)
            {
                (string clause, string limit) = Describe(cause);
                all += count;
                causes.Add((count, clause));
                raised.Add(limit);
            }
        }

        // Another thread may have logged this one's since it was counted.
        if (all > 0)
        {
            IEnumerable<string> clauses = causes.Select(one => causes.Count == 1 ? one.Clause : Invariant($"{one.Count} as {one.Clause}"));
            log.TurnedAway(
                Invariant($"{all} {(all == 1 ? "connection" : "connections")}"), string.Join(", ", clauses), string.Join(" and ", raised));
        }
    }

    private (string Clause, string Limit) Describe(TurnedAwayCause cause) => cause switch
    {
        TurnedAwayCause.Connections => (Invariant($"the limit of {limits.Connections} connections is reached"), "--connections"),
        TurnedAwayCause.ConnectionsPerClient => (
            Invariant($"a client's limit of {limits.ConnectionsPerClient} connections is reached"), "--connections-per-client"),
        TurnedAwayCause.Memory => ("memory for connections is short", "--buffer-memory"),
        _ => ("descriptors are short", "the limit of descriptors ('ulimit -n', LimitNOFILE= in a unit file)"),
    };

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
