using Millrace.HttpServer.Upstreams;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>The measures of a run's upstreams: how many, and how the server treats them.</summary>
internal sealed class UpstreamShape
{
    /// <summary>Where upstreams listen.</summary>
    public static readonly int[] Ports = [5001, 5002, 5003];

    public UpstreamShape(SeededRandom random, bool hasTunnels)
    {
        Count = random.Pick<int>(1, 1, 2, 3);
        ConnectMs = random.Pick<int>(1_000, 5_000);
        FirstByteMs = random.Pick<int>(5_000, 60_000);
        IdleMs = random.Pick<int>(5_000, 60_000);
        ConnectionsMax = random.Pick<int>(1, 2, 8, 256, 256);
        QueueMax = random.Pick<int>(0, 2, 256, 256);
        QueueMs = random.Pick<int>(1_000, 5_000);
        IdleConnectionsMax = random.Pick<int>(0, 1, 32);
        IdleForMs = random.Pick<int>(500, 30_000);
        FailMs = random.Pick<int>(1_000, 10_000);
        HasTunnels = hasTunnels;
        if (hasTunnels)
        {
            TunnelIdleMs = (2 * PauseMs) + random.Pick<int>(0, 10_000);
            TunnelEndMs = random.Pick<int>(0, 200, 2_000);
        }
    }

    public int Count { get; }

    public int ConnectMs { get; }

    public int FirstByteMs { get; }

    public int IdleMs { get; }

    public int ConnectionsMax { get; }

    public int QueueMax { get; }

    public int QueueMs { get; }

    public int IdleConnectionsMax { get; }

    public int IdleForMs { get; }

    public int FailMs { get; }

    /// <summary>Whether clients ask for tunnels, too.</summary>
    public bool HasTunnels { get; }

    public int TunnelIdleMs { get; }

    public int TunnelEndMs { get; }

    public UpstreamOptions ToOptions() => new()
    {
        TunnelIdleTimeout = TimeSpan.FromMilliseconds(TunnelIdleMs),
        TunnelEndDelay = TimeSpan.FromMilliseconds(TunnelEndMs),
        ConnectTimeout = TimeSpan.FromMilliseconds(ConnectMs),
        FirstByteTimeout = TimeSpan.FromMilliseconds(FirstByteMs),
        IdleTimeout = TimeSpan.FromMilliseconds(IdleMs),
        ConnectionsMax = ConnectionsMax,
        QueueMax = QueueMax,
        QueueTimeout = TimeSpan.FromMilliseconds(QueueMs),
        IdleConnectionsMax = IdleConnectionsMax,
        IdleFor = TimeSpan.FromMilliseconds(IdleForMs),
        FailTimeout = TimeSpan.FromMilliseconds(FailMs),
    };

    /// <summary>Whether requests may have to wait for a connection, or find no place to.</summary>
    public bool IsTight => ConnectionsMax < 256 || QueueMax < 256;

    /// <summary>What a request may wait that nobody moves for.</summary>
    public int WaitMs => IsTight ? QueueMs + ConnectMs : 0;

    /// <summary>An upstream that pauses for so long keeps every deadline.</summary>
    public int PauseMs => Math.Min(FirstByteMs, IdleMs) / 2;

    /// <summary>After so long without a byte an exchange has ended, whatever its upstream does: a wait for a connection, two attempts.</summary>
    public long DeadlinesMs => (2L * (QueueMs + ConnectMs + FirstByteMs)) + IdleMs;
}
