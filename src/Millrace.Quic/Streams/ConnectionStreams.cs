using Millrace.Quic.Frames;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Streams;

/// <summary>
/// The streams of one connection: takes the frames that concern them, gives those to send, and reports to the layer above by events that
/// it takes; nothing is called back. Errors of the peer are returned and end the connection. The connection owns it, and disposes of it
/// when it ends; then all blocks are given back. One thread.
/// </summary>
internal sealed class ConnectionStreams : IDisposable
{
    private readonly StreamPool _pool;
    private readonly StreamTable _table;
    private readonly ConnectionFlow _flow;
    private readonly StreamSender _sender;
    private readonly SendBudget _budget;
    private readonly LinkedList<QuicStream> _events = new();
    private readonly long _windowBytes;
    private QuicStream? _closed;
    private bool _isStreamAvailable;

    public ConnectionStreams(bool isServer, StreamSettings settings, StreamPool pool)
    {
        _pool = pool;
        _windowBytes = settings.ConnectionWindowBytes;
        _flow = new ConnectionFlow(settings);
        _budget = new SendBudget(settings.SendBufferBytesMax);
        _table = new StreamTable(this, isServer, settings, _budget, pool);
        _sender = new StreamSender(this, _table, _flow, _budget);
    }

    /// <summary>Number of open streams.</summary>
    public int Count => _table.Count;

    public Dictionary<long, QuicStream>.ValueCollection All => _table.All;

    /// <summary>Whether <see cref="WriteFrames"/> would write something.</summary>
    public bool HasFrames => _sender.HasFrames;

    /// <summary>Whether <see cref="TryTakeEvent"/> would give something.</summary>
    public bool HasEvents => _events.Count > 0;

    /// <summary>The round-trip time in nanoseconds, which tells the windows how fast the peer uses them.</summary>
    public long SmoothedRtt
    {
        get => _flow.SmoothedRtt;
        set => _flow.SmoothedRtt = value;
    }

    /// <summary>The connection's flow control, as of bytes sent and received.</summary>
    public ConnectionFlow Flow => _flow;

    /// <summary>
    /// Memory of what was written and is not acknowledged, and of what was received and is not consumed (without the unused parts of its
    /// blocks).
    /// </summary>
    public long HeldBytes => _budget.UsedBytes + _flow.Receive.Received - _flow.Receive.Consumed;

    public StreamCounts CountsOf(bool isBidirectional) => _table.CountsOf(isBidirectional);

    /// <summary>
    /// Some streams are not read for now and may fill their windows, of so many bytes: as far as its maximum allows, the connection's
    /// window has room for the others.
    /// </summary>
    public void AllowForUnread(long windowBytes)
    {
        long before = _flow.Receive.Size;
        _flow.Receive.Widen(_windowBytes + windowBytes);
        _flow.Pending |= _flow.Receive.Size > before ? ConnectionControls.MaxData : ConnectionControls.None;
    }

    public void ApplyPeerLimits(in PeerStreamLimits limits)
    {
        _flow.Send = new SendWindow(limits.MaxData);
        _table.ApplyPeerLimits(limits);
    }

    /// <summary>Opens a stream. False: the peer allows no more now; <see cref="TakeStreamAvailable"/> says when it does.</summary>
    public bool TryOpen(bool isBidirectional, out QuicStream? stream)
    {
        StreamCounts counts = _table.CountsOf(isBidirectional);
        stream = counts.CanOpen ? _table.Open(isBidirectional) : null;
        if (stream is null && counts.TryReportBlocked())
        {
            _flow.Pending |= StreamSender.StreamsBlockedOf(isBidirectional);
        }

        return stream is not null;
    }

    /// <summary>True once, when the peer allows more streams after <see cref="TryOpen"/> has failed.</summary>
    public bool TakeStreamAvailable()
    {
        bool isAvailable = _isStreamAvailable;
        _isStreamAvailable = false;
        return isAvailable;
    }

    public QuicStream? Find(long id) => _table.Find(id);

    public QuicError? OnStream(long id, long offset, ReadOnlySpan<byte> bytes, bool fin)
    {
        QuicError? error = _table.FindOrOpen(id, isForReceiver: true, FrameType.Stream, out QuicStream? stream);
        if (stream is null)
        {
            return error;
        }

        error = stream.Receive.Receive(offset, bytes, fin, ref _flow.Receive, out bool isReadable);
        if (isReadable)
        {
            AddEvent(stream, StreamEvents.Readable);
        }

        OnConsumed(stream);
        return error;
    }

    public QuicError? OnResetStream(long id, long code, long finalSize)
    {
        QuicError? error = _table.FindOrOpen(id, isForReceiver: true, FrameType.ResetStream, out QuicStream? stream);
        if (stream is null)
        {
            return error;
        }

        error = stream.Receive.ReceiveReset(code, finalSize, ref _flow.Receive, out bool isReset);
        if (isReset)
        {
            AddEvent(stream, StreamEvents.Reset);
        }

        OnConsumed(stream);
        return error;
    }

    public QuicError? OnStopSending(long id, long code)
    {
        QuicError? error = _table.FindOrOpen(id, isForReceiver: false, FrameType.StopSending, out QuicStream? stream);
        if (stream is not null && stream.Send.TryStop(code))
        {
            _sender.OnAborted(stream);
            AddEvent(stream, StreamEvents.StopSending);
        }

        return error;
    }

    public void OnMaxData(long limit)
    {
        if (_flow.Send.TryRaise(limit))
        {
            _sender.OnWindowOpened();
        }
    }

    public QuicError? OnMaxStreamData(long id, long limit)
    {
        QuicError? error = _table.FindOrOpen(id, isForReceiver: false, FrameType.MaxStreamData, out QuicStream? stream);
        if (stream is not null && stream.Send.TryRaiseLimit(limit))
        {
            _sender.Schedule(stream);
            _sender.Wake(stream);
        }

        return error;
    }

    public void OnMaxStreams(bool isBidirectional, long limit) =>
        _isStreamAvailable |= _table.CountsOf(isBidirectional).TryRaise(Math.Min(limit, StreamId.CountMax));

    /// <summary>STREAM_DATA_BLOCKED asks for nothing: limits rise as bytes are consumed. But it may open a stream.</summary>
    public QuicError? OnStreamDataBlocked(long id) => _table.FindOrOpen(id, isForReceiver: true, FrameType.StreamDataBlocked, out _);

    /// <summary>
    /// Writes what fits: limits and resets, then bytes of streams by priority. <paramref name="sent"/> receives a record of each frame.
    /// </summary>
    public void WriteFrames(ref FrameWriter writer, SentFrameList sent, long now) => _sender.Write(ref writer, sent, now);

    public void OnAcked(in SentFrame frame) => _sender.OnAcked(frame);

    public void OnLost(in SentFrame frame) => _sender.OnLost(frame);

    /// <summary>
    /// Informs the peer again of limits that hold this end back: when nothing is in flight, so that the peer does not end an idle
    /// connection (RFC 9000, section 4.1).
    /// </summary>
    public void RepeatBlocked() => _sender.RepeatBlocked();

    /// <summary>
    /// The next stream that something happened to, and what. Events of a stream are taken together. After
    /// <see cref="StreamEvents.Closed"/> the stream is valid until the next call.
    /// </summary>
    public bool TryTakeEvent(out QuicStream? stream, out StreamEvents events)
    {
        ReturnClosed();
        while (_events.First?.Value is { } first)
        {
            // A reset that is being reported may close the stream, which is reported with it.
            first.Receive.OnResetRead();
            CloseIfEnded(first);
            _events.Remove(first.EventNode);
            (stream, events) = (first, first.Events);
            first.Events = StreamEvents.None;
            _closed = first.IsOpen ? null : first;
            if (events != StreamEvents.None)
            {
                return true;
            }
        }

        stream = null;
        events = StreamEvents.None;
        return false;
    }

    public void Dispose()
    {
        ReturnClosed();
        _sender.Clear();
        foreach (QuicStream stream in _table.All)
        {
            Forget(stream);
        }

        _table.Clear();
        while (_events.First is { } node)
        {
            Forget(node.Value);
        }
    }

    internal void OnOpened(QuicStream stream) => AddEvent(stream, StreamEvents.Opened);

    internal void OnWritten(QuicStream stream)
    {
        if (stream.IsOpen)
        {
            _sender.Schedule(stream);
            _sender.WaitForRoom(stream);
        }
    }

    internal void Abort(QuicStream stream, long code)
    {
        if (stream.Send.TryAbort(code))
        {
            _sender.OnAborted(stream);
        }
    }

    internal void Consume(QuicStream stream, long count)
    {
        stream.Receive.Consume(count, ref _flow.Receive);
        OnConsumed(stream);
    }

    internal void StopSending(QuicStream stream, long code)
    {
        if (stream.Receive.TryStop(code, ref _flow.Receive))
        {
            _sender.AddControl(stream, StreamControls.StopSending);
        }

        stream.Events &= ~StreamEvents.Readable;
        OnConsumed(stream);
    }

    internal void SetPriority(QuicStream stream, int urgency, bool isIncremental) =>
        _sender.SetPriority(stream, Math.Clamp(urgency, 0, QuicStream.UrgencyMax), isIncremental);

    internal void AddEvent(QuicStream stream, StreamEvents happened)
    {
        stream.Events |= happened;
        if (stream.EventNode.List is null)
        {
            _events.AddLast(stream.EventNode);
        }
    }

    internal void CloseIfEnded(QuicStream stream)
    {
        if (!stream.IsOpen || !stream.Send.IsTerminal || !stream.Receive.IsTerminal)
        {
            return;
        }

        _sender.Remove(stream);
        _table.Close(stream);
        if (stream.IsPeers && _table.CountsOf(stream.IsBidirectional).IsUpdateDue)
        {
            _flow.Pending |= StreamSender.MaxStreamsOf(stream.IsBidirectional);
        }

        AddEvent(stream, StreamEvents.Closed);
    }

    /// <summary>Bytes were read or dropped, or the receiving side has ended.</summary>
    private void OnConsumed(QuicStream stream)
    {
        if (stream.Receive.IsUpdateDue)
        {
            _sender.AddControl(stream, StreamControls.MaxStreamData);
        }

        if (_flow.Receive.IsUpdateDue)
        {
            _flow.Pending |= ConnectionControls.MaxData;
        }

        CloseIfEnded(stream);
    }

    private void ReturnClosed()
    {
        if (_closed is not null)
        {
            _pool.Return(_closed);
            _closed = null;
        }
    }

    private void Forget(QuicStream stream)
    {
        stream.EventNode.List?.Remove(stream.EventNode);
        _pool.Return(stream);
    }
}
