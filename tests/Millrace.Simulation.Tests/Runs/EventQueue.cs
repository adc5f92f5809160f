namespace Millrace.Simulation.Tests.Runs;

/// <summary>Somebody of the simulated world who does something at a time of its own.</summary>
internal interface IScheduled
{
    /// <param name="errand">What it asked to be woken for; its own numbering.</param>
    void Act(int errand);
}

/// <summary>The clock of a run and what is to happen when. What is due at the same millisecond happens in any order.</summary>
internal sealed class Agenda(Dice dice)
{
    /// <summary>An hour of a machine that has run for some time.</summary>
    private const long StartMs = 3_600_000;

    private const int TieBits = 20;

    private readonly PriorityQueue<(IScheduled Who, int Errand), long> _queue = new();
    private readonly Dice _dice = dice;

    public long NowMs { get; private set; } = StartMs;

    /// <summary>When the next thing happens; <see cref="long.MaxValue"/> when nothing will.</summary>
    public long NextAtMs => _queue.TryPeek(out _, out long priority) ? priority >> TieBits : long.MaxValue;

    public void In(long ms, IScheduled who, int errand) => At(NowMs + ms, who, errand);

    public void At(long atMs, IScheduled who, int errand) =>
        _queue.Enqueue((who, errand), (Math.Max(atMs, NowMs) << TieBits) | (long)(_dice.Next() >> (64 - TieBits)));

    public void AdvanceTo(long atMs) => NowMs = Math.Max(NowMs, atMs);

    /// <summary>Lets the next thing happen if it is due.</summary>
    public bool TryRunDue()
    {
        if (NextAtMs > NowMs)
        {
            return false;
        }

        (IScheduled who, int errand) = _queue.Dequeue();
        who.Act(errand);
        return true;
    }
}
