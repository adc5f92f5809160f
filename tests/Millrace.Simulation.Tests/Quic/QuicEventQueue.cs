using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>The clock of a run, in nanoseconds, and what is to happen when. What is due at the same time happens in any order.</summary>
internal sealed class QuicEventQueue(SeededRandom random)
{
    private readonly PriorityQueue<(IScheduled Who, int EventId), (long At, ulong Tie)> _queue = new();

    /// <summary>An hour of a machine that has run for some time.</summary>
    public long Now { get; private set; } = 3_600_000_000_000;

    public long Events { get; private set; }

    public bool IsEmpty => _queue.Count == 0;

    public void At(long at, IScheduled who, int eventId) => _queue.Enqueue((who, eventId), (Math.Max(at, Now), random.Next()));

    public void In(long after, IScheduled who, int eventId) => At(Now + after, who, eventId);

    public bool TryRunNext()
    {
        if (!_queue.TryDequeue(out (IScheduled Who, int EventId) next, out (long At, ulong Tie) when))
        {
            return false;
        }

        Now = when.At;
        Events++;
        next.Who.Act(next.EventId);
        return true;
    }
}
