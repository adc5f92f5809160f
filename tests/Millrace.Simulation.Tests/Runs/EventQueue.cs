namespace Millrace.Simulation.Tests.Runs;

/// <summary>A part of the simulated world that acts at times of its own.</summary>
internal interface IScheduled
{
    /// <param name="eventId">What it scheduled itself for; its own numbering.</param>
    void Act(int eventId);
}

/// <summary>The clock of a run and what is to happen when. What is due at the same millisecond happens in any order.</summary>
internal sealed class EventQueue(SeededRandom random)
{
    /// <summary>An hour of a machine that has run for some time.</summary>
    private const long StartMs = 3_600_000;

    private const int TieBits = 20;

    private readonly PriorityQueue<(IScheduled Who, int EventId), long> _queue = new();

    public long NowMs { get; private set; } = StartMs;

    /// <summary>When the next thing happens; <see cref="long.MaxValue"/> when nothing will.</summary>
    public long NextAtMs => _queue.TryPeek(out _, out long priority) ? priority >> TieBits : long.MaxValue;

    public void In(long ms, IScheduled who, int eventId) => At(NowMs + ms, who, eventId);

    public void At(long atMs, IScheduled who, int eventId) =>
        _queue.Enqueue((who, eventId), (Math.Max(atMs, NowMs) << TieBits) | (long)(random.Next() >> (64 - TieBits)));

    public void AdvanceTo(long atMs) => NowMs = Math.Max(NowMs, atMs);

    /// <summary>Lets the next thing happen if it is due.</summary>
    public bool TryRunDue()
    {
        if (NextAtMs > NowMs)
        {
            return false;
        }

        (IScheduled who, int eventId) = _queue.Dequeue();
        who.Act(eventId);
        return true;
    }
}
