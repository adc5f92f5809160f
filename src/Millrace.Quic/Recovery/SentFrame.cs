using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Quic.Packets;

namespace Millrace.Quic.Recovery;

/// <summary>
/// What a packet carried that matters when it is acknowledged or lost. PING, PADDING, PATH_CHALLENGE, PATH_RESPONSE and CONNECTION_CLOSE
/// are not recorded: none of them is sent again.
/// </summary>
internal enum SentFrameKind : byte
{
    None,
    Ack,
    Crypto,
    Stream,
    ResetStream,
    StopSending,
    MaxData,
    MaxStreamData,
    MaxStreamsBidirectional,
    MaxStreamsUnidirectional,
    DataBlocked,
    StreamDataBlocked,
    StreamsBlockedBidirectional,
    StreamsBlockedUnidirectional,
    NewToken,
    NewConnectionId,
    RetireConnectionId,
    HandshakeDone,
}

/// <summary>
/// A frame of a sent packet, without its bytes: they are where they came from until the frame is acknowledged.
/// <paramref name="Offset"/> is the offset of CRYPTO and STREAM, otherwise the frame's value (a limit, a sequence number, a final size,
/// the largest number of an ACK). <paramref name="IsFin"/> is the FIN bit of STREAM.
/// </summary>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct SentFrame(
    SentFrameKind Kind, PacketSpace Space, long StreamId, long Offset, int Length, bool IsFin)
{
    /// <summary>The limit, sequence number, final size or packet number of a frame without data.</summary>
    public long Value => Offset;

    public static SentFrame Ack(PacketSpace space, long largest) => new(SentFrameKind.Ack, space, 0, largest, 0, false);

    public static SentFrame Crypto(PacketSpace space, long offset, int length) =>
        new(SentFrameKind.Crypto, space, 0, offset, length, false);

    public static SentFrame Stream(long id, long offset, int length, bool isFin) =>
        new(SentFrameKind.Stream, PacketSpace.Application, id, offset, length, isFin);

    /// <summary>A frame of 1-RTT packets that is a kind and a value, and belongs to no stream.</summary>
    public static SentFrame Control(SentFrameKind kind, long value = 0) => new(kind, PacketSpace.Application, 0, value, 0, false);

    /// <summary>A frame that is a kind and a value, and belongs to a stream.</summary>
    public static SentFrame StreamControl(SentFrameKind kind, long id, long value = 0) =>
        new(kind, PacketSpace.Application, id, value, 0, false);
}

/// <summary>
/// Learns what becomes of each frame. It is called within <see cref="LossDetection"/>'s calls, and sends nothing within its own.
/// A frame of a packet is lost once at most, and may be acknowledged after it was lost: a packet can be late, or the frame was sent again
/// in a probe. So the same bytes of a stream can be acknowledged twice, by two packets.
/// </summary>
internal interface ISentFrameOwner
{
    void OnAcked(in SentFrame frame);

    /// <summary>The frame is to be sent again, as far as it is still current.</summary>
    void OnLost(in SentFrame frame);
}

/// <summary>The frames of the packet that is being written. One for each connection, used again for each packet.</summary>
internal sealed class SentFrameList
{
    private SentFrame[] _frames = new SentFrame[16];

    /// <summary>The bytes of these frames that are not in the packet yet.</summary>
    public PayloadPieces Pieces { get; } = new();

    public int Count { get; private set; }

    public ReadOnlySpan<SentFrame> AsSpan => _frames.AsSpan(0, Count);

    /// <summary>Inlined, so that a new frame is written where it stays.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Add(SentFrame frame)
    {
        if (Count == _frames.Length)
        {
            Array.Resize(ref _frames, Count * 2);
        }

        _frames[Count++] = frame;
    }

    /// <summary>Forgets the frames that were added after the list had <paramref name="count"/>: what followed did not fit.</summary>
    public void Truncate(int count) => Count = Math.Min(Count, count);

    public void Clear()
    {
        Count = 0;
        Pieces.Clear();
    }
}
