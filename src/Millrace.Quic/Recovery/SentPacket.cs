using System.Runtime.InteropServices;

namespace Millrace.Quic.Recovery;

[Flags]
internal enum SentPacketTraits : byte
{
    None = 0,

    /// <summary>It carries a frame other than ACK, PADDING and CONNECTION_CLOSE.</summary>
    AckEliciting = 1,

    /// <summary>It is ack-eliciting or carries PADDING: it counts against the congestion window (RFC 9002, section 2).</summary>
    InFlight = 2,

    /// <summary>It probes the path's MTU: its loss says nothing of congestion (RFC 9000, section 14.4).</summary>
    MtuProbe = 4,
}

/// <summary>A packet that was sent, as recovery records it (RFC 9002, appendix A.1).</summary>
[StructLayout(LayoutKind.Auto)]
internal struct SentPacket
{
    /// <summary>The packet number.</summary>
    public long Number;

    /// <summary>When it was sent, in nanoseconds.</summary>
    public long TimeSent;

    /// <summary>Bytes of the UDP payload that it took.</summary>
    public int Size;

    public SentPacketTraits Traits;

    /// <summary>The mark that it was sent with.</summary>
    public EcnMark Ecn;

    /// <summary>The path that it was sent on; the caller's number.</summary>
    public byte Path;

    internal SentPacketState State;

    /// <summary>It was sent on the path that is current still: it is a sample of its round-trip time.</summary>
    internal bool IsOnPath;

    /// <summary>It is part of the controller's bytes in flight.</summary>
    internal bool IsCounted;

    /// <summary>Its frames were given to their owners to be sent again in a probe; they are not reported lost again.</summary>
    internal bool IsRequeued;

    /// <summary>Its first frame, mostly the only one; of kind None: it has none. Here, as the next record in memory is read next.</summary>
    internal SentFrame Frame;

    /// <summary>Its other frames, in the pool.</summary>
    internal int Frames;

    /// <summary>When it was declared lost, the congestion event that this was part of, and whether time or packets decided.</summary>
    internal long TimeLost;

    internal int CongestionEvent;

    internal bool IsLostByTime;

    public readonly bool IsAckEliciting => (Traits & SentPacketTraits.AckEliciting) != 0;

    public readonly bool IsInFlight => (Traits & SentPacketTraits.InFlight) != 0;

    internal readonly bool HasFrames => Frame.Kind != SentFrameKind.None;

    public readonly bool IsMtuProbe => (Traits & SentPacketTraits.MtuProbe) != 0;
}

internal enum SentPacketState : byte
{
    /// <summary>The number was not used: a peer that acknowledges it has not received it.</summary>
    Skipped,
    Outstanding,
    Acknowledged,
    Lost,
}

/// <summary>Learns what becomes of each packet, after its frames were, under the contract of <see cref="ISentFrameOwner"/>.</summary>
internal interface ISentPacketObserver
{
    void OnPacketAcked(PacketSpace space, in SentPacket packet);

    void OnPacketLost(PacketSpace space, in SentPacket packet);
}
