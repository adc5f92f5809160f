using System.Diagnostics;
using System.Text.Unicode;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Frames;

/// <summary>
/// Writes frames one after the other into the frames of a packet (RFC 9000, section 19). A frame that does not fit is not written
/// at all, and its method gives false. Values are the caller's to check. It is passed by reference.
/// </summary>
internal ref struct FrameWriter
{
    private const int PathDataLength = 8;

    private readonly Span<byte> _destination;
    private int _offset;

    public FrameWriter(Span<byte> destination) => _destination = destination;

    /// <summary>Bytes written.</summary>
    public readonly int Length => _offset;

    public readonly int Remaining => _destination.Length - _offset;

    public readonly ReadOnlySpan<byte> Written => _destination[.._offset];

    /// <summary>Takes back what was written after an earlier <see cref="Length"/>.</summary>
    public void Truncate(int length)
    {
        Debug.Assert(length >= 0 && length <= _offset);
        _offset = length;
    }

    public bool TryWritePadding(int count)
    {
        if (!HasRoom(count))
        {
            return false;
        }

        _destination.Slice(_offset, count).Clear();
        _offset += count;
        return true;
    }

    public bool TryWritePing() => TryWriteType(FrameType.Ping);

    public bool TryWriteHandshakeDone() => TryWriteType(FrameType.HandshakeDone);

    /// <summary>
    /// Writes as many of the ranges, which are in order from the largest down, as fit; false if not even the first one does.
    /// <paramref name="delay"/> is encoded already. With all counts 0 the frame has no ECN counts.
    /// </summary>
    public bool TryWriteAck(scoped ReadOnlySpan<PacketRange> ranges, long delay, EcnCounts ecn = default)
    {
        Debug.Assert(!ranges.IsEmpty);
        bool hasEcn = !ecn.IsZero;
        PacketRange first = ranges[0];
        int ecnLength = hasEcn ? Size(ecn.Ect0) + Size(ecn.Ect1) + Size(ecn.Ce) : 0;
        int room = Remaining - 1 - Size(first.Largest) - Size(delay) - Size(Beyond(first)) - ecnLength;
        int count = 0;
        int rangesLength = 0;
        while (count + 1 < ranges.Length)
        {
            int next = rangesLength + Size(Gap(ranges, count + 1)) + Size(Beyond(ranges[count + 1]));
            if (next + Size(count + 1) > room)
            {
                break;
            }

            rangesLength = next;
            count++;
        }

        if (rangesLength + Size(count) > room)
        {
            return false;
        }

        Write((long)(hasEcn ? FrameType.AckEcn : FrameType.Ack), first.Largest, delay);
        Write(count, Beyond(first));
        for (int i = 1; i <= count; i++)
        {
            Write(Gap(ranges, i), Beyond(ranges[i]));
        }

        if (hasEcn)
        {
            Write(ecn.Ect0, ecn.Ect1, ecn.Ce);
        }

        return true;
    }

    public bool TryWriteResetStream(long streamId, long errorCode, long finalSize)
        => TryWrite(FrameType.ResetStream, streamId, errorCode, finalSize);

    public bool TryWriteStopSending(long streamId, long errorCode) => TryWrite(FrameType.StopSending, streamId, errorCode);

    public bool TryWriteCrypto(long offset, scoped ReadOnlySpan<byte> data)
    {
        if (!TryBeginCrypto(offset, data.Length, out Span<byte> room))
        {
            return false;
        }

        data.CopyTo(room);
        return true;
    }

    /// <summary>Writes a CRYPTO frame but for its data, which the caller copies into <paramref name="data"/>.</summary>
    public bool TryBeginCrypto(long offset, int length, out Span<byte> data)
    {
        if (!HasRoom((long)1 + Size(offset) + Size(length) + length))
        {
            data = default;
            return false;
        }

        Write((long)FrameType.Crypto, offset, length);
        data = Take(length);
        return true;
    }

    /// <summary>The most data that a CRYPTO frame could have here; 0 or less: none.</summary>
    public readonly int MaximumCryptoData(long offset) => DataWithin(Remaining - 1 - Size(offset));

    /// <summary>Writes a STREAM frame with its length, so that others may follow it.</summary>
    public bool TryWriteStream(long streamId, long offset, scoped ReadOnlySpan<byte> data, bool fin)
    {
        if (!TryBeginStream(streamId, offset, data.Length, fin, out Span<byte> room))
        {
            return false;
        }

        data.CopyTo(room);
        return true;
    }

    /// <summary>Writes a STREAM frame but for its data, which the caller copies into <paramref name="data"/>.</summary>
    public bool TryBeginStream(long streamId, long offset, int length, bool fin, out Span<byte> data)
    {
        int offsetLength = offset > 0 ? Size(offset) : 0;
        if (!HasRoom((long)1 + Size(streamId) + offsetLength + Size(length) + length))
        {
            data = default;
            return false;
        }

        Write((long)FrameType.Stream | (offset > 0 ? 4L : 0) | 2 | (fin ? 1L : 0), streamId);
        if (offset > 0)
        {
            Write(offset);
        }

        Write(length);
        data = Take(length);
        return true;
    }

    /// <summary>The most data that a STREAM frame could have here; negative: not even an empty one fits.</summary>
    public readonly int MaximumStreamData(long streamId, long offset)
        => DataWithin(Remaining - 1 - Size(streamId) - (offset > 0 ? Size(offset) : 0));

    public bool TryWriteNewToken(scoped ReadOnlySpan<byte> token)
    {
        if (!HasRoom((long)1 + Size(token.Length) + token.Length))
        {
            return false;
        }

        Write((long)FrameType.NewToken, token.Length);
        token.CopyTo(Take(token.Length));
        return true;
    }

    public bool TryWriteMaxData(long maximum) => TryWrite(FrameType.MaxData, maximum);

    public bool TryWriteMaxStreamData(long streamId, long maximum) => TryWrite(FrameType.MaxStreamData, streamId, maximum);

    public bool TryWriteMaxStreams(bool isBidirectional, long maximum)
        => TryWrite(isBidirectional ? FrameType.MaxStreamsBidirectional : FrameType.MaxStreamsUnidirectional, maximum);

    public bool TryWriteDataBlocked(long maximum) => TryWrite(FrameType.DataBlocked, maximum);

    public bool TryWriteStreamDataBlocked(long streamId, long maximum) => TryWrite(FrameType.StreamDataBlocked, streamId, maximum);

    public bool TryWriteStreamsBlocked(bool isBidirectional, long maximum)
        => TryWrite(isBidirectional ? FrameType.StreamsBlockedBidirectional : FrameType.StreamsBlockedUnidirectional, maximum);

    public bool TryWriteNewConnectionId(
        long sequenceNumber, long retirePriorTo, scoped in ConnectionId id, scoped ReadOnlySpan<byte> resetToken)
    {
        Debug.Assert(id.Length > 0 && retirePriorTo <= sequenceNumber && resetToken.Length == StatelessReset.TokenLength);
        if (!HasRoom(1 + Size(sequenceNumber) + Size(retirePriorTo) + 1 + id.Length + resetToken.Length))
        {
            return false;
        }

        Write((long)FrameType.NewConnectionId, sequenceNumber, retirePriorTo);
        Write(id.Length);
        id.AsSpan.CopyTo(Take(id.Length));
        resetToken.CopyTo(Take(resetToken.Length));
        return true;
    }

    public bool TryWriteRetireConnectionId(long sequenceNumber) => TryWrite(FrameType.RetireConnectionId, sequenceNumber);

    public bool TryWritePathChallenge(scoped ReadOnlySpan<byte> data) => TryWritePath(FrameType.PathChallenge, data);

    public bool TryWritePathResponse(scoped ReadOnlySpan<byte> data) => TryWritePath(FrameType.PathResponse, data);

    /// <summary>
    /// Writes a CONNECTION_CLOSE frame for a packet of this kind, with as much of the reason as fits. Before 1-RTT packets an application's
    /// error becomes APPLICATION_ERROR without a reason (section 10.2.3).
    /// </summary>
    public bool TryWriteConnectionClose(QuicError error, PacketKind kind)
    {
        bool isHidden = error.IsApplication && kind is PacketKind.Initial or PacketKind.Handshake;
        bool isApplication = error.IsApplication && !isHidden;
        long code = isHidden ? (long)TransportErrorCode.ApplicationError : error.Code;
        long cause = isHidden ? 0 : (long)error.FrameType;
        int room = Remaining - 1 - Size(code) - (isApplication ? 0 : Size(cause));
        if (room < 1)
        {
            return false;
        }

        Write((long)(isApplication ? FrameType.ConnectionCloseApplication : FrameType.ConnectionClose), code);
        if (!isApplication)
        {
            Write(cause);
        }

        Span<byte> reason = stackalloc byte[Math.Max(0, Math.Min(DataWithin(room), 255))];
        Utf8.FromUtf16(isHidden ? "" : error.Reason, reason, out _, out int length);
        Write(length);
        reason[..length].CopyTo(Take(length));
        return true;
    }

    private static int Size(long value) => VariableLengthInteger.Length(value);

    private static long Gap(scoped ReadOnlySpan<PacketRange> ranges, int index) => ranges[index - 1].Smallest - ranges[index].Largest - 2;

    /// <summary>The ACK Range Length field: numbers of a range beyond its first one.</summary>
    private static long Beyond(in PacketRange range) => range.Largest - range.Smallest;

    /// <summary>How much data and its length take no more than this room.</summary>
    private static int DataWithin(int room)
    {
        int data = room - 1;
        return data < 1 << 6 ? data : data - 1 < 1 << 14 ? data - 1 : Math.Max(data - 3, (1 << 14) - 1);
    }

    private bool TryWritePath(FrameType type, scoped ReadOnlySpan<byte> data)
    {
        Debug.Assert(data.Length == PathDataLength);
        if (!HasRoom(1 + PathDataLength))
        {
            return false;
        }

        Write((long)type);
        data.CopyTo(Take(PathDataLength));
        return true;
    }

    private bool TryWriteType(FrameType type)
    {
        if (!HasRoom(1))
        {
            return false;
        }

        Write((long)type);
        return true;
    }

    private bool TryWrite(FrameType type, long value)
    {
        if (!HasRoom(1 + Size(value)))
        {
            return false;
        }

        Write((long)type, value);
        return true;
    }

    private bool TryWrite(FrameType type, long first, long second)
    {
        if (!HasRoom(1 + Size(first) + Size(second)))
        {
            return false;
        }

        Write((long)type, first, second);
        return true;
    }

    private bool TryWrite(FrameType type, long first, long second, long third)
    {
        if (!HasRoom(1 + Size(first) + Size(second) + Size(third)))
        {
            return false;
        }

        Write((long)type, first);
        Write(second, third);
        return true;
    }

    private readonly bool HasRoom(long count) => count <= Remaining;

    private Span<byte> Take(int count)
    {
        Span<byte> taken = _destination.Slice(_offset, count);
        _offset += count;
        return taken;
    }

    private void Write(long value) => _offset += VariableLengthInteger.Write(_destination[_offset..], value);

    private void Write(long first, long second)
    {
        Write(first);
        Write(second);
    }

    private void Write(long first, long second, long third)
    {
        Write(first);
        Write(second);
        Write(third);
    }
}
