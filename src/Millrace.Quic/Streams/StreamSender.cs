using Millrace.Quic.Frames;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Streams;

/// <summary>
/// Which frames of streams are to be sent, and what becomes of those that were: a limit or a reset is written from its current value when
/// a packet has room, and after a loss only if it is still current. One for each connection; one thread.
/// </summary>
internal sealed class StreamSender(ConnectionStreams connection, StreamTable table, ConnectionFlow flow, SendBudget budget)
{
    /// <summary>A packet's last bytes are left to padding rather than to a smaller part of a stream's bytes.</summary>
    private const int FragmentBytesMin = 16;

    private readonly StreamScheduler _scheduler = new();
    private readonly LinkedList<QuicStream> _controls = new();
    private readonly LinkedList<QuicStream> _roomWaiters = new();

    public bool HasFrames => flow.Pending != ConnectionControls.None || _controls.Count > 0 || !_scheduler.IsEmpty;

    public static ConnectionControls MaxStreamsOf(bool isBidirectional) =>
        isBidirectional ? ConnectionControls.MaxStreamsBidirectional : ConnectionControls.MaxStreamsUnidirectional;

    public static ConnectionControls StreamsBlockedOf(bool isBidirectional) =>
        isBidirectional ? ConnectionControls.StreamsBlockedBidirectional : ConnectionControls.StreamsBlockedUnidirectional;

    public void AddControl(QuicStream stream, StreamControls control)
    {
        stream.Controls |= control;
        if (stream.ControlNode.List is null)
        {
            _controls.AddLast(stream.ControlNode);
        }
    }

    /// <summary>Puts a stream where what it has to send, and the windows, say.</summary>
    public void Schedule(QuicStream stream)
    {
        SendStream send = stream.Send;
        if (send.HasUnlimited || (send.HasNew && flow.Send.Available > 0))
        {
            _scheduler.Add(stream);
            return;
        }

        if (send.HasNew)
        {
            _scheduler.Block(stream);
            if (flow.Send.TryReportBlocked())
            {
                flow.Pending |= ConnectionControls.DataBlocked;
            }

            return;
        }

        _scheduler.Remove(stream);
        if (send.IsBlocked && send.TryReportBlocked())
        {
            AddControl(stream, StreamControls.StreamDataBlocked);
        }
    }

    /// <summary>Notes whether the writer of a stream waits for room.</summary>
    public void WaitForRoom(QuicStream stream)
    {
        bool isWaiting = stream.RoomNode.List is not null;
        if (stream.Send.IsRoomWanted && !isWaiting)
        {
            _roomWaiters.AddLast(stream.RoomNode);
        }
        else if (!stream.Send.IsRoomWanted && isWaiting)
        {
            _roomWaiters.Remove(stream.RoomNode);
        }
    }

    /// <summary>Lets the writer of a stream go on, if it waits and there is room.</summary>
    public void Wake(QuicStream stream)
    {
        if (stream.RoomNode.List is not null && stream.Send.TryWake())
        {
            _roomWaiters.Remove(stream.RoomNode);
            connection.AddEvent(stream, StreamEvents.Writable);
        }
    }

    public void OnWindowOpened()
    {
        flow.Pending &= ~ConnectionControls.DataBlocked;
        _scheduler.ResumeBlocked();
    }

    /// <summary>The sending side was reset: there are no bytes to send any more, but a RESET_STREAM.</summary>
    public void OnAborted(QuicStream stream)
    {
        stream.Controls &= ~StreamControls.StreamDataBlocked;
        stream.Events &= ~StreamEvents.Writable;
        AddControl(stream, StreamControls.ResetStream);
        Schedule(stream);
        WaitForRoom(stream);
        WakeIfRelieved();
    }

    public void SetPriority(QuicStream stream, int urgency, bool isIncremental) =>
        _scheduler.SetPriority(stream, urgency, isIncremental);

    /// <summary>Takes a stream out of all lists.</summary>
    public void Remove(QuicStream stream)
    {
        _scheduler.Remove(stream);
        stream.ControlNode.List?.Remove(stream.ControlNode);
        stream.RoomNode.List?.Remove(stream.RoomNode);
        stream.Controls = StreamControls.None;
    }

    public void Clear()
    {
        foreach (QuicStream stream in table.All)
        {
            Remove(stream);
        }

        flow.Pending = ConnectionControls.None;
    }

    public void RepeatBlocked()
    {
        if (_scheduler.HasBlocked && flow.Send.Available == 0)
        {
            flow.Pending |= ConnectionControls.DataBlocked;
        }

        foreach (QuicStream stream in table.All)
        {
            if (stream.Send.IsBlocked)
            {
                AddControl(stream, StreamControls.StreamDataBlocked);
            }
        }
    }

    public void Write(ref FrameWriter writer, SentFrameList sent, long now)
    {
        var controls = new ControlFrames(table, flow, now);
        if (!controls.TryWritePending(ref writer, sent))
        {
            return;
        }

        while (_controls.First is { } node)
        {
            if (!controls.TryWrite(node.Value, ref writer, sent))
            {
                return;
            }

            _controls.Remove(node);
        }

        while (!_scheduler.IsEmpty && TryWriteBytes(_scheduler.First, ref writer, sent))
        {
        }
    }

    public void OnAcked(in SentFrame frame)
    {
        if (table.Find(frame.StreamId) is not { } stream)
        {
            return;
        }

        if (frame.Kind == SentFrameKind.Stream)
        {
            if (stream.Send.OnAcked(frame.Offset, frame.Length, frame.IsFin))
            {
                Wake(stream);
                WakeIfRelieved();
            }

            Schedule(stream);
            connection.CloseIfEnded(stream);
        }
        else if (frame.Kind == SentFrameKind.ResetStream)
        {
            stream.Send.OnResetAcked();
            connection.CloseIfEnded(stream);
        }
    }

    public void OnLost(in SentFrame frame)
    {
        if (frame.Kind is SentFrameKind.Stream or SentFrameKind.ResetStream or SentFrameKind.StopSending
            or SentFrameKind.MaxStreamData or SentFrameKind.StreamDataBlocked)
        {
            if (table.Find(frame.StreamId) is { } stream)
            {
                OnLost(stream, frame);
            }

            return;
        }

        flow.Pending |= frame.Kind switch
        {
            SentFrameKind.MaxData when frame.Value == flow.Receive.Limit => ConnectionControls.MaxData,
            SentFrameKind.DataBlocked when frame.Value == flow.Send.Limit && _scheduler.HasBlocked => ConnectionControls.DataBlocked,
            SentFrameKind.MaxStreamsBidirectional when frame.Value == table.Bidirectional.PeerLimit => MaxStreamsOf(true),
            SentFrameKind.MaxStreamsUnidirectional when frame.Value == table.Unidirectional.PeerLimit => MaxStreamsOf(false),
            SentFrameKind.StreamsBlockedBidirectional when IsBlockedAt(table.Bidirectional, frame.Value) => StreamsBlockedOf(true),
            SentFrameKind.StreamsBlockedUnidirectional when IsBlockedAt(table.Unidirectional, frame.Value) => StreamsBlockedOf(false),
            _ => ConnectionControls.None,
        };
    }

    private static bool IsBlockedAt(StreamCounts counts, long limit) => counts.IsBlocked && counts.Limit == limit;

    private void OnLost(QuicStream stream, in SentFrame frame)
    {
        switch (frame.Kind)
        {
            case SentFrameKind.Stream:
                stream.Send.OnLost(frame.Offset, frame.Length, frame.IsFin);
                Schedule(stream);
                break;
            case SentFrameKind.ResetStream when stream.Send.State == SendState.ResetSent:
                AddControl(stream, StreamControls.ResetStream);
                break;
            case SentFrameKind.StopSending when stream.Receive.IsStopOfUse:
                AddControl(stream, StreamControls.StopSending);
                break;
            case SentFrameKind.MaxStreamData when stream.Receive.IsLimitOfUse && frame.Value == stream.Receive.Limit:
                AddControl(stream, StreamControls.MaxStreamData);
                break;
            case SentFrameKind.StreamDataBlocked when stream.Send.IsBlocked && frame.Value == stream.Send.Limit:
                AddControl(stream, StreamControls.StreamDataBlocked);
                break;
        }
    }

    /// <summary>
    /// Blocks were released: writers that the budget held back go on when there is ample room, the first that waited first.
    /// </summary>
    private void WakeIfRelieved()
    {
        if (!budget.TakeRelief())
        {
            return;
        }

        LinkedListNode<QuicStream>? node = _roomWaiters.First;
        while (node is not null)
        {
            LinkedListNode<QuicStream>? next = node.Next;
            Wake(node.Value);
            node = next;
        }
    }

    /// <summary>Writes a frame of the first stream. False: the packet has no room for it.</summary>
    private bool TryWriteBytes(QuicStream stream, ref FrameWriter writer, SentFrameList sent)
    {
        SendStream send = stream.Send;
        if (send.TryGetNext(flow.Send.Available, out long offset, out long length))
        {
            int count = (int)Math.Min(length, writer.MaximumStreamData(stream.Id, offset));
            bool fin = send.IsFin(offset, count);
            if (count < Math.Min(length, FragmentBytesMin) || !writer.TryBeginStream(stream.Id, offset, count, fin, out Span<byte> bytes))
            {
                return false;
            }

            send.Buffer.AppendTo(sent.Pieces, writer.Length - count, offset, bytes);
            flow.Send.Use(send.OnSent(offset, count, fin));
            sent.Add(SentFrame.Stream(stream.Id, offset, count, fin));
            _scheduler.Rotate(stream);
            Wake(stream);
        }

        // If it has sent all, or a window holds back the remainder, it leaves the queue.
        Schedule(stream);
        return true;
    }
}
