using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>
/// A stream, as the layer above uses it. It belongs to one connection from its opening until its <see cref="StreamEvents.Closed"/> was
/// taken; after that the object may be another stream. What it does takes effect when the connection sends its next packet. One thread.
/// </summary>
internal sealed class QuicStream
{
    public const int UrgencyMax = 7;
    public const int UrgencyDefault = 3;

    private ConnectionStreams? _connection;

    public QuicStream(BlockPool pool)
    {
        Send = new SendStream(pool);
        Receive = new ReceiveStream(pool);
        SendNode = new LinkedListNode<QuicStream>(this);
        ControlNode = new LinkedListNode<QuicStream>(this);
        EventNode = new LinkedListNode<QuicStream>(this);
        RoomNode = new LinkedListNode<QuicStream>(this);
    }

    public long Id { get; private set; }

    public bool IsBidirectional => StreamId.IsBidirectional(Id);

    /// <summary>The peer opened it.</summary>
    public bool IsPeers { get; private set; }

    /// <summary>Its connection still knows it.</summary>
    public bool IsOpen { get; set; }

    public SendStream Send { get; }

    public ReceiveStream Receive { get; }

    /// <summary>The layer's above.</summary>
    public object? Tag { get; set; }

    /// <summary>0 is the most urgent (RFC 9218, section 4.1).</summary>
    public int Urgency { get; internal set; } = UrgencyDefault;

    /// <summary>It shares the bandwidth with others of its urgency, rather than being sent whole.</summary>
    public bool IsIncremental { get; internal set; }

    /// <summary>All that the peer sent was read, or the peer has reset the stream.</summary>
    public bool IsReadToEnd => Receive.IsTerminal;

    /// <summary>Bytes that <see cref="Write"/> would take now.</summary>
    public long Room => Send.Room;

    /// <summary>The scheduler's, while it has something to send.</summary>
    internal LinkedListNode<QuicStream> SendNode { get; }

    internal LinkedListNode<QuicStream> ControlNode { get; }

    internal LinkedListNode<QuicStream> EventNode { get; }

    internal LinkedListNode<QuicStream> RoomNode { get; }

    internal StreamControls Controls { get; set; }

    internal StreamEvents Events { get; set; }

    /// <summary>
    /// Copies as much as there is room for, and returns how much. If that is not all, <see cref="StreamEvents.Writable"/> follows, unless
    /// the stream ends before. Nothing is taken after the end.
    /// </summary>
    public int Write(ReadOnlySpan<byte> bytes)
    {
        int count = Send.Write(bytes);
        _connection?.OnWritten(this);
        return count;
    }

    /// <summary>
    /// As <see cref="Write"/>, but may keep no copy: the bytes are in memory that does not move, and the caller keeps them valid and
    /// unchanged until the stream is closed or aborted, or the connection has ended.
    /// </summary>
    public int WriteReferenced(ReadOnlySpan<byte> bytes)
    {
        int count = Send.WriteReferenced(bytes);
        _connection?.OnWritten(this);
        return count;
    }

    /// <summary>
    /// Room to write into, for <see cref="Advance"/>; as much as lies together. If it is empty, <see cref="StreamEvents.Writable"/>
    /// follows, unless the stream has ended.
    /// </summary>
    public Span<byte> GetSpan()
    {
        Span<byte> room = Send.GetSpan();
        if (room.IsEmpty)
        {
            _connection?.OnWritten(this);
        }

        return room;
    }

    public void Advance(int count)
    {
        Send.Advance(count);
        _connection?.OnWritten(this);
    }

    /// <summary>Ends the sending side after what was written.</summary>
    public void Finish()
    {
        if (Send.Finish())
        {
            _connection?.OnWritten(this);
        }
    }

    /// <summary>Ends the sending side at once with RESET_STREAM; what is not acknowledged may not arrive.</summary>
    public void Abort(long code) => _connection?.Abort(this, code);

    /// <summary>
    /// The next bytes in order, as many as lie together, valid until they are consumed. False: none now, and <see cref="IsReadToEnd"/>
    /// says whether more may come.
    /// </summary>
    public bool TryRead(out ReadOnlySpan<byte> bytes) => Receive.TryRead(out bytes);

    /// <summary>Bytes of <see cref="TryRead"/> that were used; their memory and the peer's credit return.</summary>
    public void Consume(long count) => _connection?.Consume(this, count);

    /// <summary>Ends the receiving side: what has arrived is dropped, and the peer is asked with STOP_SENDING to send no more.</summary>
    public void StopSending(long code) => _connection?.StopSending(this, code);

    public void SetPriority(int urgency, bool isIncremental) => _connection?.SetPriority(this, urgency, isIncremental);

    internal void Open(ConnectionStreams connection, long id, bool isPeers)
    {
        _connection = connection;
        Id = id;
        IsPeers = isPeers;
        IsOpen = true;
    }

    /// <summary>For another stream. It is in no list.</summary>
    internal void Reset()
    {
        Debug.Assert(SendNode.List is null && ControlNode.List is null && EventNode.List is null && RoomNode.List is null);
        Send.Reset();
        Receive.Reset();
        _connection = null;
        Tag = null;
        IsOpen = false;
        Urgency = UrgencyDefault;
        IsIncremental = false;
        Controls = StreamControls.None;
        Events = StreamEvents.None;
    }
}

/// <summary>Stream objects that are not in use, for all connections of a thread.</summary>
internal sealed class StreamPool(BlockPool blocks, int streamsMax = 1024)
{
    private readonly Stack<QuicStream> _free = new();

    public int FreeStreams => _free.Count;

    public QuicStream Rent() => _free.TryPop(out QuicStream? stream) ? stream : new QuicStream(blocks);

    public void Return(QuicStream stream)
    {
        stream.Reset();
        if (_free.Count < streamsMax)
        {
            _free.Push(stream);
        }
    }
}
