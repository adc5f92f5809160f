using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>The states of RFC 9000, section 3.1.</summary>
internal enum SendState : byte
{
    /// <summary>There is no sending side: the stream is unidirectional, and the peer's.</summary>
    None,
    Ready,
    Send,
    DataSent,
    ResetSent,
    DataRecvd,
    ResetRecvd,
}

/// <summary>
/// The sending side of a stream (RFC 9000, section 3.1): what was written, the peer's window, and how the stream ends. It changes only
/// itself; <see cref="ConnectionStreams"/> sends what it has. One thread.
/// </summary>
internal sealed class SendStream(BlockPool pool)
{
    private SendWindow _window;
    private long _unsentBytesMax;
    private bool _isFinLost;
    private bool _isFinAcked;

    /// <summary>The last write referred to the application's memory: the next one needs no block.</summary>
    private bool _isReferencing;

    public SendState State { get; private set; }

    public SendBuffer Buffer { get; } = new(pool);

    /// <summary>The offset that the peer lets this stream reach.</summary>
    public long Limit => _window.Limit;

    /// <summary>The application has written all.</summary>
    public bool IsFinished { get; private set; }

    /// <summary>A write found too little room, and its writer waits for <see cref="StreamEvents.Writable"/>.</summary>
    public bool IsRoomWanted { get; private set; }

    public long ResetCode { get; private set; }

    public long StopSendingCode { get; private set; }

    public long FinalSize => Buffer.SentEnd;

    /// <summary>The peer has all, or knows that it will not get it.</summary>
    public bool IsTerminal => State is SendState.None or SendState.DataRecvd or SendState.ResetRecvd;

    public bool IsWritable => IsOpen && !IsFinished;

    /// <summary>Whether bytes or the end must be sent that no window of the connection holds back.</summary>
    public bool HasUnlimited => (IsOpen || State == SendState.DataSent) && (Buffer.HasLost || IsFinDue);

    /// <summary>Whether new bytes may be sent, if the connection's window lets them.</summary>
    public bool HasNew => IsOpen && Buffer.UnsentBytes > 0 && _window.Available > 0;

    /// <summary>Whether the peer's window for this stream holds bytes back.</summary>
    public bool IsBlocked => IsOpen && Buffer.UnsentBytes > 0 && _window.Available == 0;

    /// <summary>Bytes that may be written now. Nobody is far ahead of what the peer accepts, but for a block.</summary>
    public long Room => IsWritable ? Math.Max(0, Math.Min(Buffer.Room, UnsentLimit - Buffer.UnsentBytes)) : 0;

    private bool IsOpen => State is SendState.Ready or SendState.Send;

    private long UnsentLimit => Math.Min(_unsentBytesMax, Math.Max(_window.Available, BlockPool.BlockBytes));

    /// <summary>Only the end is left to send, alone or with the last bytes.</summary>
    private bool IsFinDue => IsFinished && Buffer.UnsentBytes == 0 && (State != SendState.DataSent || _isFinLost);

    public void Open(long limit, long unsentBytesMax, SendBudget budget)
    {
        Buffer.Budget = budget;
        _window = new SendWindow(limit);
        _unsentBytesMax = unsentBytesMax;
        State = SendState.Ready;
    }

    /// <summary>For another stream.</summary>
    public void Reset()
    {
        Buffer.Reset();
        Buffer.Budget = null;
        _window = default;
        State = SendState.None;
        IsFinished = _isFinAcked = _isFinLost = _isReferencing = IsRoomWanted = false;
        ResetCode = StopSendingCode = 0;
    }

    /// <summary>Copies as much as there is room for; returns how much.</summary>
    public int Write(ReadOnlySpan<byte> bytes)
    {
        int count = Buffer.Write(bytes[..(int)Math.Min(Room, bytes.Length)]);
        IsRoomWanted = count < bytes.Length && IsWritable;
        _isReferencing = false;
        return count;
    }

    /// <summary>
    /// As <see cref="Write"/>, without a copy under the contract of <see cref="SendBuffer.TryReference"/> where that is possible.
    /// </summary>
    public int WriteReferenced(ReadOnlySpan<byte> bytes)
    {
        int count = (int)Math.Min(IsWritable ? Math.Max(0, UnsentLimit - Buffer.UnsentBytes) : 0, bytes.Length);
        if (count == 0 || !Buffer.TryReference(bytes[..count]))
        {
            return Write(bytes);
        }

        IsRoomWanted = count < bytes.Length;
        _isReferencing = true;
        return count;
    }

    /// <summary>Room to write into; empty if there is none. <see cref="Advance"/> appends what is written.</summary>
    public Span<byte> GetSpan()
    {
        long room = Room;
        Span<byte> span = room > 0 ? Buffer.GetSpan() : default;
        IsRoomWanted = span.IsEmpty && IsWritable;
        _isReferencing = false;
        return span[..(int)Math.Min(span.Length, room)];
    }

    public void Advance(int count)
    {
        Debug.Assert(IsWritable || count == 0);
        Buffer.Advance(count);
    }

    /// <summary>False: it was finished or reset before.</summary>
    public bool Finish()
    {
        bool isNew = IsWritable;
        IsFinished |= isNew;
        IsRoomWanted &= !isNew;
        return isNew;
    }

    /// <summary>Ends the stream with RESET_STREAM; false if it has ended.</summary>
    public bool TryAbort(long code)
    {
        if (!IsOpen && State != SendState.DataSent)
        {
            return false;
        }

        State = SendState.ResetSent;
        ResetCode = code;
        IsRoomWanted = false;
        Buffer.Clear();
        return true;
    }

    /// <summary>The peer has asked to stop: false if the stream has ended.</summary>
    public bool TryStop(long code)
    {
        if (!TryAbort(code))
        {
            return false;
        }

        StopSendingCode = code;
        return true;
    }

    public bool TryRaiseLimit(long limit) => _window.TryRaise(limit);

    public bool TryReportBlocked() => _window.TryReportBlocked();

    /// <summary>
    /// The next frame: at most <paramref name="newBytesMax"/> bytes that were not sent before. The length may be zero, for the end alone.
    /// </summary>
    public bool TryGetNext(long newBytesMax, out long offset, out long length)
    {
        long limit = Math.Min(_window.Limit, Buffer.SentEnd + newBytesMax);
        return Buffer.TryGetNext(limit, out offset, out length) || IsFinDue;
    }

    /// <summary>Whether a frame with these bytes carries the end.</summary>
    public bool IsFin(long offset, long length) => IsFinished && offset + length == Buffer.End;

    /// <summary>Counts a frame as sent; returns how many bytes were not sent before.</summary>
    public long OnSent(long offset, int length, bool fin)
    {
        long before = Buffer.SentEnd;
        Buffer.OnSent(offset, length);
        long count = Buffer.SentEnd - before;
        _window.Use(count);
        State = fin ? SendState.DataSent : State == SendState.Ready ? SendState.Send : State;
        _isFinLost &= !fin;
        return count;
    }

    /// <summary>Whether blocks were released.</summary>
    public bool OnAcked(long offset, int length, bool fin)
    {
        if (State is not (SendState.Send or SendState.DataSent))
        {
            return false;
        }

        bool isReleased = Buffer.OnAcked(offset, length) > 0;
        _isFinAcked |= fin;
        if (_isFinAcked && Buffer.IsAcknowledged)
        {
            State = SendState.DataRecvd;
        }

        return isReleased;
    }

    public void OnLost(long offset, int length, bool fin)
    {
        if (State is SendState.Send or SendState.DataSent)
        {
            Buffer.OnLost(offset, length);
            _isFinLost |= fin && !_isFinAcked;
        }
    }

    public void OnResetAcked() => State = State == SendState.ResetSent ? SendState.ResetRecvd : State;

    /// <summary>True once, when a writer that waits finds room that is worth a write.</summary>
    public bool TryWake()
    {
        long limit = UnsentLimit;
        bool isAmple = IsRoomWanted && (_isReferencing || Buffer.HasAmpleRoom)
            && limit - Buffer.UnsentBytes >= Math.Min(limit, _unsentBytesMax / 2);
        IsRoomWanted &= !isAmple;
        return isAmple;
    }
}
