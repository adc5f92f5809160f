using Millrace.Fuzz.Tests.Kit;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>The frames of a packet, whose kind and receiver the first byte chooses; each is written again, and read again as the same.</summary>
internal sealed class QuicFrameTarget : FuzzTarget
{
    private static readonly (PacketKind Kind, char Letter)[] Kinds =
        [(PacketKind.OneRtt, '1'), (PacketKind.Initial, 'I'), (PacketKind.Handshake, 'H'), (PacketKind.ZeroRtt, '0')];

    private readonly GuardedMemory _payload = new(4096);
    private readonly GuardedMemory _written = new(4096);

    public override string Name => "quic-frame";

    public override int InputBytesMax => 400;

    public override int OutcomesMin => 20;

    public override IReadOnlyList<string> Words =>
    [
        "\u0002\u0005\0\u0001\u0002\0\0", "\u0003\u0005\0\0\u0005\u0001\u0002\u0003", "\u0006\0\u0002ab", "\u000B\u0004\u0002ab",
        "\u000E\u0004\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF\u00FF",
        "\u0018\u0001\u0001\u0001A0123456789abcdef", "\u001A01234567", "\u001C\u000A\u0008\u0002No", "\u00D0\0\0\0\0\0\0\u0001", "\0\0\0",
    ];

    public override byte[] Generate(Random random) => [random.Next(3) == 0 ? (byte)random.Next(8) : (byte)0, .. QuicGenerator.Frames(random)];

    public override string Check(ReadOnlySpan<byte> input)
    {
        int first = input.IsEmpty ? 0 : input[0];
        (PacketKind kind, char letter) = Kinds[first & 3];
        bool isServer = (first & 4) != 0;
        byte[] bytes = input.IsEmpty ? [] : input[1..].ToArray();
        ReadOnlySpan<byte> payload = _payload.Copy(bytes);

        string expected = ReferenceQuicFrames.Describe(bytes, letter, isServer);
        Agree(expected, FrameText.Of(payload, kind, isServer), "frames");
        CheckRoundTrip(payload, kind, isServer);
        string last = expected.Split("; ")[^1];
        return last.Contains("Error", StringComparison.Ordinal) || last.Contains("Violation", StringComparison.Ordinal)
            ? last[..Math.Min(last.Length, 24)]
            : last.Split(' ')[0];
    }

    private void CheckRoundTrip(ReadOnlySpan<byte> payload, PacketKind kind, bool isServer)
    {
        var reader = new FrameReader(payload, kind, isServer);
        while (reader.TryRead(out Frame frame, out _))
        {
            if (!CanBeWritten(frame))
            {
                continue;
            }

            string text = FrameText.Of(frame);
            var writer = new FrameWriter(_written.Take(600));
            Require(TryWrite(ref writer, frame), $"<{text}> cannot be written");
            Agree(text, FrameText.Of(writer.Written, kind, isServer), "a frame written again");

            // With a byte less there is no room for it, or for all of it.
            int length = writer.Length;
            var shorter = new FrameWriter(_written.Take(length - 1));
            Require(!TryWrite(ref shorter, frame) || shorter.Length < length, $"<{text}> was written beyond its room");
        }
    }

    /// <summary>Reasons that are not UTF-8, and ECN counts of 0, are read but never written.</summary>
    private static bool CanBeWritten(Frame frame)
        => frame.Type is not (FrameType.ConnectionClose or FrameType.ConnectionCloseApplication) && frame.Ecn is not { IsZero: true };

    private static bool TryWrite(ref FrameWriter writer, Frame frame) => frame.Type switch
    {
        FrameType.Padding => writer.TryWritePadding(frame.PaddingLength),
        FrameType.Ping => writer.TryWritePing(),
        FrameType.Ack => TryWriteAck(ref writer, frame),
        FrameType.ResetStream => writer.TryWriteResetStream(frame.StreamId, frame.ErrorCode, frame.FinalSize),
        FrameType.StopSending => writer.TryWriteStopSending(frame.StreamId, frame.ErrorCode),
        FrameType.Crypto => writer.TryWriteCrypto(frame.Offset, frame.Data),
        FrameType.NewToken => writer.TryWriteNewToken(frame.Data),
        FrameType.Stream => writer.TryWriteStream(frame.StreamId, frame.Offset, frame.Data, frame.Fin),
        FrameType.MaxData => writer.TryWriteMaxData(frame.Maximum),
        FrameType.MaxStreamData => writer.TryWriteMaxStreamData(frame.StreamId, frame.Maximum),
        FrameType.MaxStreamsBidirectional or FrameType.MaxStreamsUnidirectional
            => writer.TryWriteMaxStreams(frame.IsBidirectional, frame.Maximum),
        FrameType.DataBlocked => writer.TryWriteDataBlocked(frame.Maximum),
        FrameType.StreamDataBlocked => writer.TryWriteStreamDataBlocked(frame.StreamId, frame.Maximum),
        FrameType.StreamsBlockedBidirectional or FrameType.StreamsBlockedUnidirectional
            => writer.TryWriteStreamsBlocked(frame.IsBidirectional, frame.Maximum),
        FrameType.NewConnectionId
            => writer.TryWriteNewConnectionId(frame.SequenceNumber, frame.RetirePriorTo, new ConnectionId(frame.Data), frame.ResetToken),
        FrameType.RetireConnectionId => writer.TryWriteRetireConnectionId(frame.SequenceNumber),
        FrameType.PathChallenge => writer.TryWritePathChallenge(frame.Data),
        FrameType.PathResponse => writer.TryWritePathResponse(frame.Data),
        _ => writer.TryWriteHandshakeDone(),
    };

    private static bool TryWriteAck(ref FrameWriter writer, Frame frame)
    {
        List<PacketRange> ranges = [];
        foreach (PacketRange range in frame.AckRanges)
        {
            ranges.Add(range);
        }

        Require(ranges.Count == frame.AckRanges.Count, "the count of ranges is another");
        return writer.TryWriteAck([.. ranges], frame.AckDelay, frame.Ecn ?? default);
    }
}
