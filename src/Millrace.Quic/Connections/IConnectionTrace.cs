using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Sees the packets of a connection, for a log of them (qlog). Called within the connection's own calls, on their thread: it reads and
/// changes nothing. Its time is that of the connection.
/// </summary>
internal interface IConnectionTrace
{
    /// <summary>A packet is about to be sealed. The frames are valid within the call, without PADDING at the end.</summary>
    void OnPacketSent(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now);

    /// <summary>A packet was opened that is no duplicate, and its frames are about to be processed.</summary>
    void OnPacketReceived(PacketKind kind, long number, int size, ReadOnlySpan<byte> frames, long now);

    /// <summary>A sent packet was declared lost.</summary>
    void OnPacketLost(PacketSpace space, long number, long now);

    /// <summary>An acknowledgment was processed, after which times and windows may differ.</summary>
    void OnAcknowledged(LossDetection recovery);

    /// <summary>The last call.</summary>
    void OnClosed(in CloseReason reason);
}
