using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Takes what recovery finds out about sent frames and packets to the members that sent them. STREAM frames of which one continues the
/// other are reported as one: a response of a hundred packets that one ACK frame acknowledges costs its stream no more than one packet.
/// </summary>
internal sealed class SentFrameResults(QuicConnection connection, ControlFrameBudget budget) : ISentFrameOwner, ISentPacketObserver
{
    /// <summary>The STREAM frames that were acknowledged last, and are not reported yet; another kind: none.</summary>
    private SentFrame _acked;
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
            case SentFrameKind.Stream:
                budget.Return(1);
                AddAcked(frame);
                break;
            default:
                budget.Return(1);
                connection.Streams.OnAcked(frame);
                break;
        }
    }

    /// <summary>All frames that an ACK frame acknowledges were given to <see cref="OnAcked"/>.</summary>
    public void ReportAcked()
    {
        if (_acked.Kind == SentFrameKind.Stream)
        {
            connection.Streams.OnAcked(_acked);
            _acked = default;
        }
    }

    public void OnLost(in SentFrame frame)
    {
        // What another packet brought is not lost.
        ReportAcked();
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

    private void AddAcked(in SentFrame frame)
    {
        if (_acked.Kind == SentFrameKind.Stream && _acked.StreamId == frame.StreamId && _acked.Offset + _acked.Length == frame.Offset)
        {
            _acked = _acked with { Length = _acked.Length + frame.Length, IsFin = _acked.IsFin | frame.IsFin };
            return;
        }

        ReportAcked();
        _acked = frame;
    }
}
