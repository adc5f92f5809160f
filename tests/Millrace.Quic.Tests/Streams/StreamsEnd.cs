using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

/// <summary>The streams of one end, with packets that are the frames alone.</summary>
internal sealed class StreamsEnd : IDisposable
{
    public const int PacketBytes = 1200;

    /// <summary>Enough for everything.</summary>
    public static readonly PeerStreamLimits NoLimits = new(1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 20, 1 << 20);

    private readonly SentFrameList _sent = new();

    public StreamsEnd(bool isServer, StreamSettings? settings = null, PeerStreamLimits? peer = null, long poolBytes = long.MaxValue)
    {
        IsServer = isServer;
        Blocks = new BlockPool(poolBytes);
        Pool = new StreamPool(Blocks);
        Streams = new ConnectionStreams(isServer, settings ?? StreamSettings.Default, Pool);
        Streams.ApplyPeerLimits(peer ?? NoLimits);
    }

    public bool IsServer { get; }

    public BlockPool Blocks { get; }

    public StreamPool Pool { get; }

    public ConnectionStreams Streams { get; }

    /// <summary>The limits that the peer of an end with these settings has.</summary>
    public static PeerStreamLimits LimitsOf(StreamSettings settings) => new(
        settings.ConnectionWindowBytes,
        settings.StreamWindowBytes,
        settings.StreamWindowBytes,
        settings.StreamWindowBytes,
        settings.BidirectionalStreamsMax,
        settings.UnidirectionalStreamsMax);

    public QuicStream Open(bool isBidirectional = true)
    {
        Assert.True(Streams.TryOpen(isBidirectional, out QuicStream? stream));
        return stream!;
    }

    public Sent Send(int room = PacketBytes, long now = 0)
    {
        byte[] packet = new byte[room];
        int count = SendInto(packet, now);
        return new Sent(packet[..count], _sent.AsSpan.ToArray());
    }

    /// <summary>Writes a packet, and returns its length; its frames are in <see cref="LastSent"/>.</summary>
    public int SendInto(byte[] packet, long now = 0)
    {
        _sent.Clear();
        var writer = new FrameWriter(packet);
        Streams.WriteFrames(ref writer, _sent, now);
        _sent.Pieces.CopyTo(packet);
        return writer.Length;
    }

    public ReadOnlySpan<SentFrame> LastSent => _sent.AsSpan;

    /// <summary>The frames of the next packet, in short.</summary>
    public string SendText(int room = PacketBytes, long now = 0) => Describe(Send(room, now).Bytes);

    public QuicError? Receive(ReadOnlySpan<byte> packet)
    {
        if (packet.IsEmpty)
        {
            return null;
        }

        var reader = new FrameReader(packet, PacketKind.OneRtt, IsServer);
        QuicError? error;
        while (reader.TryRead(out Frame frame, out error))
        {
            error = Receive(frame);
            if (error is not null)
            {
                return error;
            }
        }

        return error;
    }

    public void Acknowledge(Sent packet)
    {
        foreach (SentFrame frame in packet.Frames)
        {
            Streams.OnAcked(frame);
        }
    }

    public void Lose(Sent packet)
    {
        foreach (SentFrame frame in packet.Frames)
        {
            Streams.OnLost(frame);
        }
    }

    /// <summary>All events there are, as "id flags", separated by commas.</summary>
    public string TakeEvents()
    {
        var events = new List<string>();
        while (Streams.TryTakeEvent(out QuicStream? stream, out StreamEvents happened))
        {
            events.Add($"{stream!.Id} {happened}");
        }

        return string.Join(", ", events);
    }

    public static string Describe(ReadOnlySpan<byte> packet)
    {
        var frames = new List<string>();
        if (!packet.IsEmpty)
        {
            var reader = new FrameReader(packet, PacketKind.OneRtt, isServer: false);
            while (reader.TryRead(out Frame frame, out QuicError? _))
            {
                frames.Add(frame.Type switch
                {
                    FrameType.Stream => $"STREAM {frame.StreamId} {frame.Offset}+{frame.Data.Length}{(frame.Fin ? " FIN" : "")}",
                    FrameType.ResetStream => $"RESET_STREAM {frame.StreamId} {frame.ErrorCode} {frame.FinalSize}",
                    FrameType.StopSending => $"STOP_SENDING {frame.StreamId} {frame.ErrorCode}",
                    FrameType.MaxStreamData => $"MAX_STREAM_DATA {frame.StreamId} {frame.Maximum}",
                    FrameType.StreamDataBlocked => $"STREAM_DATA_BLOCKED {frame.StreamId} {frame.Maximum}",
                    FrameType.MaxData => $"MAX_DATA {frame.Maximum}",
                    FrameType.DataBlocked => $"DATA_BLOCKED {frame.Maximum}",
                    FrameType.MaxStreamsBidirectional => $"MAX_STREAMS bidi {frame.Maximum}",
                    FrameType.MaxStreamsUnidirectional => $"MAX_STREAMS uni {frame.Maximum}",
                    FrameType.StreamsBlockedBidirectional => $"STREAMS_BLOCKED bidi {frame.Maximum}",
                    FrameType.StreamsBlockedUnidirectional => $"STREAMS_BLOCKED uni {frame.Maximum}",
                    _ => frame.Type.ToString(),
                });
            }
        }

        return string.Join(", ", frames);
    }

    public void Dispose()
    {
        Streams.Dispose();
        Assert.Equal(0, Blocks.LentBlocks);
        Blocks.Dispose();
    }

    private QuicError? Receive(in Frame frame)
    {
        switch (frame.Type)
        {
            case FrameType.Stream:
                return Streams.OnStream(frame.StreamId, frame.Offset, frame.Data, frame.Fin);
            case FrameType.ResetStream:
                return Streams.OnResetStream(frame.StreamId, frame.ErrorCode, frame.FinalSize);
            case FrameType.StopSending:
                return Streams.OnStopSending(frame.StreamId, frame.ErrorCode);
            case FrameType.MaxStreamData:
                return Streams.OnMaxStreamData(frame.StreamId, frame.Maximum);
            case FrameType.StreamDataBlocked:
                return Streams.OnStreamDataBlocked(frame.StreamId);
            case FrameType.MaxData:
                Streams.OnMaxData(frame.Maximum);
                return null;
            case FrameType.MaxStreamsBidirectional or FrameType.MaxStreamsUnidirectional:
                Streams.OnMaxStreams(frame.IsBidirectional, frame.Maximum);
                return null;
            default:
                return null;
        }
    }
}

/// <summary>A packet that was sent.</summary>
internal sealed record Sent(byte[] Bytes, SentFrame[] Frames);
