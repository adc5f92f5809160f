using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>Takes what recovery finds out about sent frames and packets to the members that sent them.</summary>
internal sealed class SentFrameResults(QuicConnection connection, ControlFrameBudget budget) : ISentFrameOwner, ISentPacketObserver
{
    private long _now;

    /// <summary>The time of the call of recovery that reports.</summary>
    public void SetTime(long now) => _now = now;

    public void OnAcked(in SentFrame frame)
    {
        switch (frame.Kind)
        {
            case SentFrameKind.Ack:
                connection.SpaceOf(frame.Space).Received.OnAckAcked(frame.Value);
                break;
            case SentFrameKind.Crypto:
                connection.SpaceOf(frame.Space).Crypto.OnAcked(frame);
                break;
            case SentFrameKind.RetireConnectionId:
                connection.PeerIds.OnRetireAcknowledged(frame.Value);
                break;
            case SentFrameKind.NewConnectionId or SentFrameKind.HandshakeDone or SentFrameKind.NewToken:
                break;
            default:
                budget.Return(1);
                connection.Streams.OnAcked(frame);
                break;
        }
    }

    public void OnLost(in SentFrame frame)
    {
        switch (frame.Kind)
        {
            case SentFrameKind.Ack:
                break;
            case SentFrameKind.Crypto:
                connection.SpaceOf(frame.Space).Crypto.OnLost(frame);
                break;
            case SentFrameKind.RetireConnectionId:
                connection.PeerIds.OnRetireLost(frame.Value);
                break;
            case SentFrameKind.NewConnectionId:
                connection.LocalIds.OnLost(frame.Value);
                break;
            case SentFrameKind.HandshakeDone:
                connection.Pending.HandshakeDone = true;
                break;
            case SentFrameKind.NewToken:
                connection.Pending.NewToken = true;
                break;
            default:
                connection.Streams.OnLost(frame);
                break;
        }
    }

    public void OnPacketAcked(PacketSpace space, in SentPacket packet)
    {
        PathMtu? mtu = connection.Paths.Get(packet.Path)?.Mtu;
        if (packet.IsMtuProbe)
        {
            mtu?.OnProbeAcknowledged(packet.Size, _now);
            connection.OnDatagramSizeChanged();
        }
        else if (packet.IsInFlight)
        {
            mtu?.OnAcknowledged(packet.Size);
        }
    }

    public void OnPacketLost(PacketSpace space, in SentPacket packet)
    {
        connection.Trace?.OnPacketLost(space, packet.Number, _now);
        PathMtu? mtu = connection.Paths.Get(packet.Path)?.Mtu;
        if (packet.IsMtuProbe)
        {
            mtu?.OnProbeLost(packet.Size, _now);
        }
        else if (mtu is not null && mtu.OnLost(packet.Size, _now))
        {
            connection.OnDatagramSizeChanged();
        }
    }
}
