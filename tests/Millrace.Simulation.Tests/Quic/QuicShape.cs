using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>The measures of one run: how many connections, how large their streams, what the network is like.</summary>
internal sealed class QuicShape
{
    public const long Millisecond = 1_000_000;
    public const long Second = 1_000_000_000;

    public QuicShape(SeededRandom random, QuicSwarm swarm)
    {
        Connections = random.Pick<int>(1, 1, 2, 5, 12);
        ArrivalSpan = random.Pick<long>(0, 20, 500, 3_000) * Millisecond;
        Streams = random.Pick<int>(1, 1, 3, 8, 20);
        StreamBytes = random.Pick<int>(10, 1_000, 20_000, 20_000, 150_000);
        Delay = random.Pick<long>(100, 1_000, 10_000, 40_000, 150_000) * 1_000;
        Jitter = random.Pick<long>(0, 0, 50, 2_000) * 1_000;
        BytesPerSecond = random.Pick<long>(0, 0, 100_000, 1_000_000, 20_000_000);
        QueueBytes = random.Pick<long>(15_000, 60_000, 500_000);
        ReorderDelay = random.Pick<long>(100, 5_000, 60_000) * 1_000;
        Mtu = swarm.Has(QuicFault.TooLarge) ? random.Between(1_200, 1_500) : 1_500;
        IdleTimeout = random.Pick<long>(20, 60) * Second;
        KeepAlive = random.Pick<long>(0, 0, 2, 10) * Second;
        Segments = random.Pick<int>(1, 4, 16);
        StreamWindow = random.Pick<int>(1_500, 16_384, 65_536, 65_536);
        ConnectionWindow = Math.Max(StreamWindow, random.Pick<int>(3_000, 65_536, 262_144));
        StreamsMax = random.Pick<int>(1, 4, 100, 100);
        CertificateLength = random.Pick<int>(200, 2_600, 2_600, 9_000);
        HelloLength = random.Pick<int>(280, 280, 1_500);
        KeyUpdateAfter = swarm.Has(QuicFault.KeyUpdates) ? random.Pick<long>(5, 40, 200) : long.MaxValue;
        PauseMax = random.Pick<long>(1, 30, 400) * Millisecond;
        IsCubic = random.Chance(700);
        UsesVersion2 = random.Chance(300);
        UsesEcn = random.Chance(700);
    }

    public int Connections { get; }

    public long ArrivalSpan { get; }

    public int Streams { get; }

    public int StreamBytes { get; }

    public long Delay { get; set; }

    public long Jitter { get; }

    /// <summary>Of the bottleneck; 0: there is none.</summary>
    public long BytesPerSecond { get; }

    public long QueueBytes { get; }

    public long ReorderDelay { get; }

    public int Mtu { get; }

    public long IdleTimeout { get; }

    public long KeepAlive { get; }

    public int Segments { get; }

    public int StreamWindow { get; }

    public int ConnectionWindow { get; }

    public int StreamsMax { get; }

    public int CertificateLength { get; }

    public int HelloLength { get; }

    public long KeyUpdateAfter { get; }

    public long PauseMax { get; }

    public bool IsCubic { get; }

    public bool UsesVersion2 { get; }

    public bool UsesEcn { get; }
}
