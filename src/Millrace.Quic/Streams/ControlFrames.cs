using Millrace.Quic.Frames;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Streams;

/// <summary>Writes the frames of limits and resets that are pending, with their current values, into one packet. One thread.</summary>
internal readonly ref struct ControlFrames(StreamTable table, ConnectionFlow flow, long now)
{
    /// <summary>Writes those of the connection. False: the packet has no room, and what was not written stays pending.</summary>
    public bool TryWritePending(ref FrameWriter writer, SentFrameList sent)
    {
        for (int bits = (int)flow.Pending; bits != 0; bits &= bits - 1)
        {
            var control = (ConnectionControls)(bits & -bits);
            if (!TryWrite(control, ref writer, sent))
            {
                return false;
            }

            flow.Pending &= ~control;
        }

        return true;
    }

    /// <summary>Writes those of a stream. False: the packet has no room, and what was not written stays pending.</summary>
    public bool TryWrite(QuicStream stream, ref FrameWriter writer, SentFrameList sent)
    {
        for (int bits = (int)stream.Controls; bits != 0; bits &= bits - 1)
        {
            var control = (StreamControls)(bits & -bits);
            if (!TryWrite(stream, control, ref writer, sent))
            {
                return false;
            }

            stream.Controls &= ~control;
        }

        return true;
    }

    private static bool Record(bool isWritten, SentFrameList sent, in SentFrame frame)
    {
        if (isWritten)
        {
            sent.Add(frame);
        }

        return isWritten;
    }

    private bool TryWrite(ConnectionControls control, ref FrameWriter writer, SentFrameList sent)
    {
        switch (control)
        {
            case ConnectionControls.MaxData:
                flow.Receive.Update(now, flow.SmoothedRtt);
                long limit = flow.Receive.Limit;
                return Record(writer.TryWriteMaxData(limit), sent, SentFrame.Control(SentFrameKind.MaxData, limit));
            case ConnectionControls.DataBlocked:
                limit = flow.Send.Limit;
                return Record(writer.TryWriteDataBlocked(limit), sent, SentFrame.Control(SentFrameKind.DataBlocked, limit));
            case ConnectionControls.MaxStreamsBidirectional or ConnectionControls.MaxStreamsUnidirectional:
                bool isBidirectional = control == ConnectionControls.MaxStreamsBidirectional;
                StreamCounts counts = table.CountsOf(isBidirectional);
                counts.UpdatePeerLimit();
                SentFrameKind kind = isBidirectional ? SentFrameKind.MaxStreamsBidirectional : SentFrameKind.MaxStreamsUnidirectional;
                limit = counts.PeerLimit;
                return Record(writer.TryWriteMaxStreams(isBidirectional, limit), sent, SentFrame.Control(kind, limit));
            default:
                return TryWriteStreamsBlocked(control == ConnectionControls.StreamsBlockedBidirectional, ref writer, sent);
        }
    }

    private bool TryWriteStreamsBlocked(bool isBidirectional, ref FrameWriter writer, SentFrameList sent)
    {
        StreamCounts counts = table.CountsOf(isBidirectional);
        SentFrameKind kind = isBidirectional ? SentFrameKind.StreamsBlockedBidirectional : SentFrameKind.StreamsBlockedUnidirectional;
        return !counts.IsBlocked
            || Record(writer.TryWriteStreamsBlocked(isBidirectional, counts.Limit), sent, SentFrame.Control(kind, counts.Limit));
    }

    private bool TryWrite(QuicStream stream, StreamControls control, ref FrameWriter writer, SentFrameList sent)
    {
        long id = stream.Id;
        SendStream send = stream.Send;
        ReceiveStream receive = stream.Receive;
        switch (control)
        {
            case StreamControls.ResetStream:
                return Record(
                    writer.TryWriteResetStream(id, send.ResetCode, send.FinalSize),
                    sent,
                    SentFrame.StreamControl(SentFrameKind.ResetStream, id, send.FinalSize));
            case StreamControls.StopSending:
                return !receive.IsStopOfUse || Record(
                    writer.TryWriteStopSending(id, receive.StopCode), sent, SentFrame.StreamControl(SentFrameKind.StopSending, id));
            case StreamControls.StreamDataBlocked:
                return !send.IsBlocked || Record(
                    writer.TryWriteStreamDataBlocked(id, send.Limit),
                    sent,
                    SentFrame.StreamControl(SentFrameKind.StreamDataBlocked, id, send.Limit));
            default:
                return !receive.IsLimitOfUse || TryWriteMaxStreamData(stream, ref writer, sent);
        }
    }

    private bool TryWriteMaxStreamData(QuicStream stream, ref FrameWriter writer, SentFrameList sent)
    {
        stream.Receive.UpdateLimit(now, flow.SmoothedRtt);
        flow.Receive.Widen(stream.Receive.WindowSize * 3 / 2);
        long limit = stream.Receive.Limit;
        return Record(
            writer.TryWriteMaxStreamData(stream.Id, limit), sent, SentFrame.StreamControl(SentFrameKind.MaxStreamData, stream.Id, limit));
    }
}
