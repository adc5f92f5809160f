using Millrace.Quic;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;

namespace Millrace.Tests.Shared;

/// <summary>Frames in words, for tests to compare.</summary>
internal static class FrameText
{
    /// <summary>All frames of a payload, and the error at its end if there is one.</summary>
    public static string Of(ReadOnlySpan<byte> payload, PacketKind kind = PacketKind.OneRtt, bool isServer = false)
    {
        List<string> texts = [];
        var reader = new FrameReader(payload, kind, isServer);
        QuicError? error;
        while (reader.TryRead(out Frame frame, out error))
        {
            texts.Add(Of(frame));
        }

        if (error is not null)
        {
            texts.Add($"{(TransportErrorCode)error.Code} of {(long)error.FrameType:x2}");
        }

        return string.Join("; ", texts);
    }

    public static string Of(Frame frame)
    {
        string data = Convert.ToHexStringLower(frame.Data);
        return frame.Type switch
        {
            FrameType.Padding => $"padding {frame.PaddingLength}",
            FrameType.Ack => $"ack {Ranges(frame)} delay {frame.AckDelay}{Ecn(frame)}",
            FrameType.ResetStream => $"reset {frame.StreamId} code {frame.ErrorCode} size {frame.FinalSize}",
            FrameType.StopSending => $"stop {frame.StreamId} code {frame.ErrorCode}",
            FrameType.Crypto => $"crypto {frame.Offset} {data}",
            FrameType.Stream => $"stream {frame.StreamId} at {frame.Offset} {data}{(frame.Fin ? " fin" : "")}",
            FrameType.MaxStreamData or FrameType.StreamDataBlocked => $"{frame.Type} {frame.StreamId} {frame.Maximum}",
            FrameType.NewConnectionId
                => $"id {frame.SequenceNumber} {frame.RetirePriorTo} {data} {Convert.ToHexStringLower(frame.ResetToken)}",
            FrameType.RetireConnectionId => $"retire {frame.SequenceNumber}",
            FrameType.ConnectionClose => $"close {frame.ErrorCode} by {frame.CauseFrameType} {data}",
            FrameType.ConnectionCloseApplication => $"application close {frame.ErrorCode} {data}",
            FrameType.NewToken or FrameType.PathChallenge or FrameType.PathResponse => $"{frame.Type} {data}",
            FrameType.Ping or FrameType.HandshakeDone => $"{frame.Type}",
            _ => $"{frame.Type} {frame.Maximum}",
        };
    }

    private static string Ecn(Frame frame) => frame.Ecn is { } ecn ? $" ecn {ecn.Ect0} {ecn.Ect1} {ecn.Ce}" : "";

    private static string Ranges(Frame frame)
    {
        List<string> ranges = [];
        foreach (var range in frame.AckRanges)
        {
            ranges.Add($"{range.Smallest}-{range.Largest}");
        }

        return string.Join(',', ranges);
    }
}
