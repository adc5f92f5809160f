using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>What everybody in a run shares: chance, clock, faults, trace, and the first violation.</summary>
internal sealed class World
{
    public World(ulong seed, bool hasUpstreams)
    {
        Seed = seed;
        Random = new SeededRandom(seed);
        Swarm = new Swarm(Random, hasUpstreams);
        Shape = new RunShape(Random, Swarm);
        EventQueue = new EventQueue(Random);
        Trace = new Trace(EventQueue);
        Disk = new SimulatedDisk(this);
    }

    public ulong Seed { get; }

    public SeededRandom Random { get; }

    public Swarm Swarm { get; }

    public RunShape Shape { get; }

    public EventQueue EventQueue { get; }

    public Trace Trace { get; }

    public SimulatedDisk Disk { get; init; }

    /// <summary>Filters that were made and not released.</summary>
    public int FiltersHeld { get; set; }

    public FaultCounts FaultCounts { get; } = new();

    public long NowMs => EventQueue.NowMs;

    public Violation? Violation { get; private set; }

    public bool HasFailed => Violation is not null;

    /// <summary>When the server was told to stop; <see cref="long.MaxValue"/> while it was not.</summary>
    public long StoppedAtMs { get; set; } = long.MaxValue;

    public bool IsStopping => StoppedAtMs != long.MaxValue;

    /// <summary>From here on the server may reset whoever is left.</summary>
    public long DrainEndsAtMs => IsStopping ? StoppedAtMs + Shape.DrainMs : long.MaxValue;

    /// <summary>When a peer last took something: it may go on for hours where the server has long sent all.</summary>
    public long PeersMovedAtMs { get; set; }

    /// <summary>When the clock last leapt. What was due on the way is late without anybody's fault.</summary>
    public long JumpedAtMs { get; private set; } = long.MinValue / 2;

    /// <summary>Whether the fault happens here and now, which is then noted.</summary>
    public bool Strikes(FaultKind kind, int connection)
    {
        if (!Swarm.Strikes(kind, Random))
        {
            return false;
        }

        Count(kind, connection);
        return true;
    }

    public void Count(FaultKind kind, int connection)
    {
        FaultCounts.Count(kind);
        Trace.Note(connection, TraceEvent.Fault, (long)kind);
    }

    /// <summary>A moment that the kernel takes.</summary>
    public int Latency() => Random.Below(Shape.LatencyMs + 1);

    /// <summary>The same moment, seen from a clock that may have leapt over it.</summary>
    public long WithJumps(long atMs) => Math.Max(atMs, JumpedAtMs + Shape.SlackMs + Shape.CheckMs);

    public void Jump(long ms)
    {
        EventQueue.AdvanceTo(NowMs + ms);
        JumpedAtMs = NowMs;
        Trace.Note(Trace.NoConnection, TraceEvent.Jumps, ms);
    }

    /// <summary>Notes that an invariant does not hold. The first counts: what follows from it is no news.</summary>
    public void Fail(int connection, string what) =>
        Violation ??= new Violation(Seed, connection, what, Trace.Of(connection));
}
