using Millrace.Quic.Congestion;

namespace Millrace.Quic.Recovery;

/// <summary>How a connection's <see cref="LossDetection"/> is made.</summary>
internal sealed record RecoveryOptions
{
    public CongestionAlgorithm Algorithm { get; init; } = CongestionAlgorithm.Cubic;

    /// <summary>The datagram size that every QUIC path takes (RFC 9000, section 14).</summary>
    public int MaximumDatagramSize { get; init; } = 1200;

    /// <summary>What is assumed of the round-trip time, in nanoseconds, before it is measured.</summary>
    public long InitialRtt { get; init; } = RttEstimator.InitialRtt;

    /// <summary>Whether packets may be marked with ECT(0).</summary>
    public bool UsesEcn { get; init; } = true;

    /// <summary>Random bits that decide which packet numbers of 1-RTT packets are left out; 0 leaves none out.</summary>
    public ulong SkipSeed { get; init; }
}
