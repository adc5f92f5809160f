using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.Simulation.Tests.Faults;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>The measures of one run: how many peers, how small the pieces, how late the kernel, which limits the server has.</summary>
internal sealed class RunShape
{
    /// <summary>What an answer may take at most, in pieces: a run of one-byte pieces asks for small files.</summary>
    private const int PiecesPerResponse = 400;

    public RunShape(SeededRandom random, Swarm swarm)
    {
        Connections = random.Between(1, random.Pick<int>(3, 16, 48));
        ArrivalSpanMs = random.Pick<int>(0, 20, 500, 5_000);
        ChunkBytes = random.Pick<int>(1, 7, 100, 1_500, 16_384, 200_000);
        ResponseBytesMax = Math.Max(600, ChunkBytes * PiecesPerResponse);
        SendPieceBytes = random.Pick<int>(1, 3, 40, 10_000);
        PaceMs = random.Pick<int>(0, 0, 1, 3);
        LatencyMs = random.Pick<int>(0, 1, 5);
        DelayMs = random.Pick<int>(1, 10, 50);
        HoldMs = random.Pick<int>(5, 150);
        ReceiveBuffers = random.Pick<int>(1, 2, 4, 8, 64);
        ReceiveBufferBytes = random.Pick<int>(64, 500, 4096);
        CompletionsPerIteration = random.Pick<int>(1, 5, 256);
        Limits = new Limits
        {
            Connections = swarm.Has(FaultKind.Crowded) ? random.Between(1, Connections) : 65_536,
            ConnectionsPerClient = swarm.Has(FaultKind.CrowdedClient) ? random.Between(1, Math.Max(1, Connections / 2)) : random.Pick<int>(0, 16_384),
            Refusals = swarm.Has(FaultKind.Refused) ? random.Pick<int>(1, 3, 256) : 0,
            InputHighWaterBytes = random.Pick<int>(300, 4_096, 65_536),
            PipeUnsentBytes = random.Pick<int>(100, 65_536),
            Linger = TimeSpan.FromMilliseconds(random.Pick<int>(400, 2_000)),
            WriteStall = TimeSpan.FromSeconds(random.Pick<int>(8, 30)),
            WriteBytesPerSecond = random.Pick<int>(0, 100, 2_048, 20_000),
        };
        HttpLimits = new HttpServerLimits
        {
            KeepAlive = TimeSpan.FromSeconds(random.Pick<int>(10, 75)),
            Head = TimeSpan.FromSeconds(random.Pick<int>(10, 15)),
            Body = TimeSpan.FromSeconds(random.Pick<int>(10, 30)),
            ReceiveStall = TimeSpan.FromSeconds(random.Pick<int>(5, 10, 30)),
            ReceiveBytesPerSecond = random.Pick<int>(0, 20, 240),
            RefusedHead = TimeSpan.FromMilliseconds(random.Pick<int>(500, 2_000)),
            ResponsesPerIteration = random.Pick<int>(1, 64),
            UnsentBytesMax = random.Pick<int>(2_000, 128 * 1024),
        };
        Reactors = swarm.Has(FaultKind.Dealt) ? random.Pick<int>(1, 1, 2, 3) : 1;
        Clients = random.Pick<int>(1, 2, 5, 200);
        TakesPages = random.Chance(700);
        DrainMs = random.Pick<int>(0, 200, 5_000);
        StopAfterMs = swarm.Has(FaultKind.Stopped) ? random.Below(ArrivalSpanMs + random.Pick<int>(20, 500, 10_000)) : -1;
        SlackMs = Slack(swarm);
    }

    public int Connections { get; }

    /// <summary>With several of them the first accepts for all.</summary>
    public int Reactors { get; }

    /// <summary>Whose connections they are.</summary>
    public int Clients { get; }

    /// <summary>Peers connect within so long.</summary>
    public int ArrivalSpanMs { get; }

    /// <summary>About how much goes over the network at a time.</summary>
    public int ChunkBytes { get; }

    public int ResponseBytesMax { get; }

    /// <summary>What a peer sends at once.</summary>
    public int SendPieceBytes { get; }

    /// <summary>Between two steps of a peer.</summary>
    public int PaceMs { get; }

    /// <summary>The longest that an operation takes without a fault.</summary>
    public int LatencyMs { get; }

    /// <summary>The longest that a completion is kept back by <see cref="FaultKind.Delayed"/>.</summary>
    public int DelayMs { get; }

    /// <summary>The longest that all are, by <see cref="FaultKind.Overflowed"/>.</summary>
    public int HoldMs { get; }

    /// <summary>Whether sockets are sent pages of files by reference, as TCP's are.</summary>
    public bool TakesPages { get; }

    public int ReceiveBuffers { get; }

    public int ReceiveBufferBytes { get; }

    public int CompletionsPerIteration { get; }

    public Limits Limits { get; }

    public HttpServerLimits HttpLimits { get; }

    public int DrainMs { get; }

    /// <summary>When the server is stopped under its peers; negative for not at all.</summary>
    public int StopAfterMs { get; }

    /// <summary>
    /// How much later than promised something may be seen to happen, for all that a run delays: a deadline missed by more is missed,
    /// and who moves nothing for so long has lost its progress.
    /// </summary>
    public long SlackMs { get; }

    /// <summary>A look at a peer's rate that a leap of the clock brought in front of the last one may be so much before it.</summary>
    public long CheckMs => (long)Math.Max(HttpLimits.ReceiveStall.TotalMilliseconds, Limits.WriteStall.TotalMilliseconds) / 8;

    private long Slack(Swarm swarm)
    {
        // Two ticks of the timers, and a chain of some operations.
        long slack = 200 + (10 * (LatencyMs + PaceMs));
        slack += swarm.Has(FaultKind.Delayed) ? 10 * DelayMs : 0;
        slack += swarm.Has(FaultKind.Overflowed) ? 4 * HoldMs : 0;
        bool retries = swarm.Has(FaultKind.TryAgain) || swarm.Has(FaultKind.NoBufferSpace) || swarm.Has(FaultKind.NoMemory)
            || swarm.Has(FaultKind.NoDescriptors);

        // All that is received goes through a few buffers, and each may be late.
        slack += Connections / ReceiveBuffers * (LatencyMs + 1 + (swarm.Has(FaultKind.Delayed) ? DelayMs : 0));

        // Accepts and sends that find the kernel short are tried again after 100 and 50 ms, and may find it short three times.
        return slack + (retries ? 1_500 : 0);
    }
}
