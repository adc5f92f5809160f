using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Decides what is sent next, on which path, and how much: CONNECTION_CLOSE, validation of paths, MTU probes, then what the congestion
/// window, the pacer and the limit against amplification allow.
/// </summary>
internal sealed class DatagramSender(QuicConnection connection, PacketAssembler assembler)
{
    /// <summary>The pacer lets the next packet go at this time; <see cref="QuicClock.Never"/>: it is not what holds it back.</summary>
    public long PacedUntil { get; private set; } = QuicClock.Never;

    /// <summary>
    /// Writes datagrams of equal size, at most <paramref name="segments"/>; the last may be shorter. Returns their length together; 0:
    /// there is nothing to send now.
    /// </summary>
    public int Send(Span<byte> buffer, int segments, out DatagramInfo info, long now)
    {
        PacedUntil = QuicClock.Never;
        NetworkPath path = connection.Paths.Active;
        int length = 0;
        int size = 0;
        EcnMark ecn = EcnMark.NotEct;
        if (!connection.Ending.IsOpen)
        {
            size = length = SendClose(buffer, path, now);
        }
        else if (TryFindPathProbe(now, out NetworkPath? probed))
        {
            path = probed!;
            size = length = SendPathProbe(buffer, path, now);
        }

        if (length == 0 && connection.Ending.IsOpen)
        {
            path = connection.Paths.Active;
            ecn = ChooseMark();
            length = SendData(buffer, path, segments, ecn, out size, now);
        }

        if (length > 0)
        {
            connection.UpdateAmplification();
        }

        info = new DatagramInfo(path.Local, path.Remote, ecn, size, size == 0 ? 0 : (length + size - 1) / size);
        return length;
    }

    private int SendClose(Span<byte> buffer, NetworkPath path, long now)
    {
        if (!connection.Ending.IsClosePending || path.IsBlocked || connection.CloseError is not { } error)
        {
            return 0;
        }

        int length = assembler.WriteClose(buffer[..Math.Min(PathMtu.BaseSize, path.Allowance)], path, error, now);
        connection.Ending.OnCloseSent(length);
        path.OnSent(length);
        return length;
    }

    private bool TryFindPathProbe(long now, out NetworkPath? found)
    {
        found = null;
        if (!connection.Keys.CanSend || !connection.Handshake.IsComplete)
        {
            return false;
        }

        foreach (NetworkPath? path in connection.Paths.All)
        {
            if (path is { IsBlocked: false } && (path.Challenges.HasResponse || path.Challenges.IsChallengeDue(now)))
            {
                if (connection.TryUsePeerId(path))
                {
                    found = path;
                    return true;
                }

                path.Challenges.Postpone(now);
            }
        }

        return false;
    }

    private int SendPathProbe(Span<byte> buffer, NetworkPath path, long now)
    {
        int length = assembler.WritePathProbe(buffer[..Math.Min(PathMtu.BaseSize, path.Allowance)], path, now);
        path.OnSent(length);
        return length;
    }

    private int SendData(Span<byte> buffer, NetworkPath path, int segments, EcnMark ecn, out int size, long now)
    {
        size = 0;
        if (path.IsBlocked || !connection.TryUsePeerId(path))
        {
            return 0;
        }

        if (path.Mtu.ProbeSize is > 0 and int probe && path.IsValidated && MayCarryData(probe, now) && probe <= buffer.Length)
        {
            path.Mtu.OnProbeSent();
            size = assembler.WriteMtuProbe(buffer[..probe], path, ecn, now);
            path.OnSent(size);
            return size;
        }

        int total = 0;
        EcnMark mark = connection.Recovery.Ecn.Mark;
        for (int i = 0; i < segments; i++)
        {
            int limit = i == 0 ? Math.Min(path.Mtu.Size, path.Allowance) : size;
            if (limit > buffer.Length - total || path.Allowance < limit || connection.Recovery.Ecn.Mark != mark)
            {
                break;
            }

            connection.PrepareKeys(now);
            if (!connection.Ending.IsOpen)
            {
                break;
            }

            int length = assembler.WriteDatagram(buffer.Slice(total, limit), path, MayCarryData(limit, now), ecn, now);
            total += length;
            path.OnSent(length);
            size = i == 0 ? length : size;
            connection.OnDatagramSent(now);
            if (length < limit || length == 0)
            {
                break;
            }
        }

        return total;
    }

    /// <summary>A path is not tested with packets that are not acknowledged: if it drops marked ones, nobody would learn that.</summary>
    private EcnMark ChooseMark() => connection.Recovery.Ecn.State == EcnState.Testing && !HasFrames()
        ? EcnMark.NotEct
        : connection.Recovery.Ecn.Mark;

    /// <summary>Whether the window and the pacer let a datagram go now.</summary>
    private bool MayCarryData(int size, long now)
    {
        if (!connection.Recovery.Congestion.CanSend(size))
        {
            return false;
        }

        long at = connection.Recovery.Pacer.NextSendTime(size, now);
        if (at <= now)
        {
            return true;
        }

        PacedUntil = HasFrames() ? at : PacedUntil;
        return false;
    }

    private bool HasFrames()
    {
        foreach (NumberSpace space in connection.Spaces)
        {
            if (assembler.HasFrames(space))
            {
                return true;
            }
        }

        return false;
    }
}
