using System.Buffers.Binary;
using Millrace.Quic.Streams;

namespace Millrace.Simulation.Tests.Quic;

/// <summary>
/// What one side does with one stream: sends bytes whose values follow from their offsets, and checks those that arrive. A stream of the
/// client begins with a head that says what the server is to do.
/// </summary>
internal sealed class StreamWork(QuicTruth known, bool isClient)
{
    public const int HeadLength = 20;
    private const int Nothing = -1;

    /// <summary>The client's head, as it is sent or as far as it was received.</summary>
    public byte[] Head { get; } = new byte[HeadLength];

    public QuicTruth Truth { get; set; } = known;

    /// <summary>Bytes to send, with the head; below 0: not known yet.</summary>
    public long SendTotal { get; set; }

    public long Sent { get; set; }

    /// <summary>Bytes to receive, with the head; below 0: until the end.</summary>
    public long ReceiveTotal { get; set; } = Nothing;

    public long Received { get; set; }

    /// <summary>After so many bytes written the stream is reset.</summary>
    public int AbortAt { get; set; } = Nothing;

    /// <summary>After so many bytes read the peer is asked to stop.</summary>
    public int StopAt { get; set; } = Nothing;

    public int ResponseBytes { get; set; }

    public int PeerAbortAt { get; set; } = Nothing;

    public int PeerStopAt { get; set; } = Nothing;

    /// <summary>The stream ended with a reset, or was stopped: not all bytes arrive.</summary>
    public bool IsCut { get; set; }

    public bool IsFinished { get; set; }

    public bool IsPaused { get; set; }

    /// <summary>The bytes of the client's head.</summary>
    public void MakeHead()
    {
        BinaryPrimitives.WriteUInt64LittleEndian(Head, Truth.Key);
        BinaryPrimitives.WriteInt32LittleEndian(Head.AsSpan(8), ResponseBytes);
        BinaryPrimitives.WriteInt32LittleEndian(Head.AsSpan(12), PeerAbortAt);
        BinaryPrimitives.WriteInt32LittleEndian(Head.AsSpan(16), PeerStopAt);
    }

    /// <summary>Writes as much as the stream takes.</summary>
    public void Write(QuicStream stream, Span<byte> buffer, bool hasHead)
    {
        while (!IsFinished)
        {
            if (AbortAt >= 0 && Sent >= AbortAt)
            {
                Truth.Aborted.Add((stream.Id, isClient));
                IsFinished = true;
                stream.Abort(QuicTruth.AbortCode);
                return;
            }

            int count = (int)Math.Min(buffer.Length, SendTotal - Sent);
            Span<byte> bytes = buffer[..count];
            for (int i = 0; i < count; i++)
            {
                long offset = Sent + i;
                bytes[i] = hasHead && offset < HeadLength ? Head[offset] : Truth.ByteAt(stream.Id, isClient, offset);
            }

            int written = stream.Write(bytes);
            Sent += written;
            if (Sent == SendTotal)
            {
                IsFinished = true;
                stream.Finish();
            }
            else if (written < count)
            {
                return;
            }
        }
    }

    /// <summary>Checks bytes that arrived; null: they are as they should be.</summary>
    public string? Check(long stream, ReadOnlySpan<byte> bytes, int from)
    {
        for (int i = from; i < bytes.Length; i++)
        {
            if (bytes[i] != Truth.ByteAt(stream, !isClient, Received + i))
            {
                return $"byte {Received + i} of stream {stream} is {bytes[i]}, not {Truth.ByteAt(stream, !isClient, Received + i)}";
            }
        }

        return null;
    }
}
