using Millrace.Quic.Congestion;
using Millrace.Quic.Packets;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>What this end wants of its connections. The same for all of an endpoint.</summary>
internal sealed record QuicSettings
{
    public static QuicSettings Default { get; } = new();

    /// <summary>What a client begins with.</summary>
    public uint Version { get; init; } = QuicVersion.Version1;

    /// <summary>max_idle_timeout; 0: none.</summary>
    public long IdleTimeout { get; init; } = 30 * QuicClock.Second;

    /// <summary>A PING after so much silence, at most half the idle timeout; 0: none.</summary>
    public long KeepAlive { get; init; }

    /// <summary>A handshake that is not complete after this ends; 0: none.</summary>
    public long HandshakeTimeout { get; init; } = 10 * QuicClock.Second;

    /// <summary>The largest datagram that is sent, and that path MTU discovery tries.</summary>
    public int MaximumDatagramSize { get; init; } = 1452;

    /// <summary>max_udp_payload_size: how much the receiver's buffers hold.</summary>
    public int ReceiveBufferSize { get; init; } = 1500;

    /// <summary>max_ack_delay.</summary>
    public long MaximumAckDelay { get; init; } = 25 * QuicClock.Millisecond;

    /// <summary>Packets after which this end updates its 1-RTT keys, if the cipher's limit is not lower.</summary>
    public long KeyUpdateAfter { get; init; } = long.MaxValue;

    public CongestionAlgorithm Congestion { get; init; } = CongestionAlgorithm.Cubic;

    public bool UsesEcn { get; init; } = true;

    /// <summary>A server gives clients a token for their next connection.</summary>
    public bool SendsNewToken { get; init; } = true;

    /// <summary>Gives each connection an observer of its packets; null, as usual: nothing sees them.</summary>
    public Func<QuicConnection, IConnectionTrace?>? CreateTrace { get; init; }

    public StreamSettings Streams { get; init; } = StreamSettings.Default;
}
