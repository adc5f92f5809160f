using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// What one connection may send, and which stream sends next: the ready queue, the client's windows (RFC 9113, section 5.2), and the limit
/// on file bytes that are read ahead. All changes of <see cref="Http2Stream.State"/> between the beginning and the end of a response are
/// made here. Reactor thread only.
/// </summary>
internal sealed class SendQueue(
    Connection connection, SessionReactorState reactorState, StreamTable streams, TokenBucket overheadFrames)
{
    /// <summary>The initial value of every window.</summary>
    public const int DefaultWindowBytes = 65_535;

    /// <summary>The size of a DATA frame: every client accepts it, and other streams wait only briefly for it.</summary>
    public const int DataBytesMax = FrameHeader.DefaultLengthMax;

    /// <summary>The minimum size of a read, however small the window, which may stay in memory if the window shrinks.</summary>
    public const int ReadBytesMin = 4 * 1024;

    /// <summary>The limit on file bytes that are read or being read, and not yet in the output. One chunk is always allowed.</summary>
    private const int ReadAheadBytesMax = 2 * OutgoingBody.ChunkBytes;

    /// <summary>A well-behaved client sends a WINDOW_UPDATE for no less than this, if more has arrived.</summary>
    private const int UpdateBytesMin = 4 * 1024;

    private readonly ReadyQueue _ready = new();
    private long _window = DefaultWindowBytes;
    private long _readAhead;
    private bool _waitForReadAhead;

    public Connection Connection => connection;

    public bool IsEmpty => _ready.IsEmpty;

    public Http2Stream First => _ready.First;

    public bool HasRoom => connection.UnsentBytes < reactorState.Limits.UnsentBytesMax;

    /// <summary>The window of a new stream.</summary>
    public long InitialWindow { get; private set; } = DefaultWindowBytes;

    /// <summary>The bytes of all DATA frames.</summary>
    public long SentBytes { get; private set; }

    /// <summary>Where in the output the last DATA frame ends.</summary>
    public long DataEndsAt { get; private set; }

    /// <summary>How many bytes the client accepts of a stream now.</summary>
    public long WindowOf(Http2Stream stream) => Math.Min(stream.SendWindow, _window);

    /// <summary>Whether a body need not queue: it fits one frame, no stream is queued before it, and all windows have room.</summary>
    public bool CanSendAtOnce(Http2Stream stream, long bytes) =>
        bytes <= DataBytesMax && bytes <= WindowOf(stream) && _ready.IsEmpty && HasRoom;

    public void Enqueue(Http2Stream stream)
    {
        stream.State = SendState.Ready;
        _ready.Add(stream);
    }

    /// <summary>Removes a stream that is queued: it has nothing to send.</summary>
    public void Remove(Http2Stream stream)
    {
        _ready.Remove(stream);
        stream.State = SendState.Idle;
    }

    public void Suspend(Http2Stream stream, SendState state)
    {
        _ready.Remove(stream);
        stream.State = state;
    }

    /// <summary>Lets a stream wait until the client opens a window.</summary>
    public void SuspendForWindow(Http2Stream stream)
    {
        if (_window > 0)
        {
            Suspend(stream, SendState.StreamWindow);

            // Read-ahead of a stream without a window must not prevent reads for others. It is small, as it was within the window, unless
            // the client has reduced the window: then a hundred streams would keep a chunk each.
            if (stream.ReadAheadBytes > ReadBytesMin)
            {
                stream.Body.DropChunk();
            }

            CountReadAhead(stream, 0);
            return;
        }

        Suspend(stream, SendState.ConnectionWindow);
        if (_waitForReadAhead)
        {
            // Chunks of other streams stay in memory until the window opens: streams that wait for read-ahead need not delay their heads
            // until then.
            _waitForReadAhead = false;
            ResumeAll(SendState.ReadAhead);
        }
    }

    /// <summary>Lets a stream wait if its next read would exceed the limit on read-ahead.</summary>
    public bool TrySuspendForReadAhead(Http2Stream stream, int bytes)
    {
        if (_readAhead == 0 || _readAhead + bytes <= ReadAheadBytesMax)
        {
            return false;
        }

        Suspend(stream, SendState.ReadAhead);
        _waitForReadAhead = true;
        return true;
    }

    public void CountReadAhead(Http2Stream stream, int bytes)
    {
        _readAhead += bytes - stream.ReadAheadBytes;
        stream.ReadAheadBytes = bytes;
        if (_waitForReadAhead && _readAhead <= ReadAheadBytesMax - OutgoingBody.ChunkBytes)
        {
            _waitForReadAhead = false;
            ResumeAll(SendState.ReadAhead);
        }
    }

    /// <summary>Writes a frame with bytes that do not wait in the queue: see <see cref="CanSendAtOnce"/>.</summary>
    public void SendAtOnce(Http2Stream stream, ReadOnlySpan<byte> body)
    {
        BeginFrame(stream, body.Length, isLast: true);
        connection.Write(body);
        EndFrame(stream, body.Length);
    }

    /// <summary>
    /// How many bytes the kernel may move to the client for a stream that waits for its producer: none before those that are queued.
    /// </summary>
    public long RoomToMove(Http2Stream stream) =>
        stream.State == SendState.Producer && _ready.IsEmpty ? Math.Max(0, WindowOf(stream)) : 0;

    /// <summary>Writes the header of a DATA frame, and returns its size.</summary>
    public static int WriteHeader(Span<byte> room, Http2Stream stream, int bytes, bool isLast)
    {
        FrameHeader.Write(room, bytes, FrameType.Data, isLast ? FrameFlags.EndStream : FrameFlags.None, stream.Id);
        return FrameHeader.Size;
    }

    /// <summary>Writes a frame of the first stream; true if it is the last one of its body, and the stream is no longer queued.</summary>
    public bool SendFrame(Http2Stream stream)
    {
        int count = (int)Math.Min(Math.Min(stream.Body.Ready, DataBytesMax), WindowOf(stream));
        bool isLast = stream.Body.EndsAfter(count);
        BeginFrame(stream, count, isLast);
        connection.Write(stream.Body.Next(count));
        stream.Body.Take(count);
        EndFrame(stream, count);
        CountReadAhead(stream, Math.Max(0, stream.ReadAheadBytes - count));
        if (isLast)
        {
            Remove(stream);
        }
        else
        {
            _ready.Rotate(stream);
        }

        return isLast;
    }

    public Http2Fault GrowConnectionWindow(int increment)
    {
        _window += increment;
        if (_window > int.MaxValue)
        {
            return Http2Fault.OfConnection(Http2Error.FlowControlError);
        }

        if (_window > 0)
        {
            ResumeAll(SendState.ConnectionWindow);
        }

        return default;
    }

    public Http2Fault GrowStreamWindow(Http2Stream stream, long increment)
    {
        stream.SendWindow += increment;
        if (stream.SendWindow > int.MaxValue)
        {
            return Http2Fault.OfStream(Http2Error.FlowControlError);
        }

        if (stream.SendWindow > 0 && stream.State == SendState.StreamWindow)
        {
            Enqueue(stream);
        }

        return default;
    }

    /// <summary>Applies to open streams, too, whose windows may become negative (section 6.9.2).</summary>
    public Http2Fault SetInitialWindow(int bytes)
    {
        long change = bytes - InitialWindow;
        InitialWindow = bytes;
        foreach (Http2Stream stream in streams.All)
        {
            if (!GrowStreamWindow(stream, change).IsNone)
            {
                return Http2Fault.OfConnection(Http2Error.FlowControlError);
            }
        }

        return default;
    }

    public void Prioritize(Http2Stream stream, StreamPriority priority)
    {
        bool isQueued = stream.IsQueued;
        if (isQueued)
        {
            _ready.Remove(stream);
        }

        stream.Priority = priority;
        if (isQueued)
        {
            _ready.Add(stream);
        }
    }

    /// <summary>Counts DATA frames with so many bytes, which were sent or are in the output.</summary>
    public void EndFrame(Http2Stream stream, int bytes)
    {
        stream.SendWindow -= bytes;
        stream.SentBytes += bytes;
        _window -= bytes;
        SentBytes += bytes;
        stream.EndsAt = DataEndsAt = connection.WrittenBytes;
        stream.Exchange?.AddBody(bytes, DataEndsAt);

        // A client may send a WINDOW_UPDATE for each frame, and for each 4 KiB of it (Go's does, if its reader takes so much at a time),
        // for the stream and for the connection. This holds for small frames too: a client that answers each of them so keeps receiving
        // small ones. The rate limits detect a client that is too slow.
        overheadFrames.Earn(2 * ((bytes + UpdateBytesMin - 1) / UpdateBytesMin));
    }

    private void BeginFrame(Http2Stream stream, int bytes, bool isLast) =>
        connection.Advance(WriteHeader(connection.GetSpan(FrameHeader.Size), stream, bytes, isLast));

    private void ResumeAll(SendState state)
    {
        foreach (Http2Stream stream in streams.All)
        {
            if (stream.State == state)
            {
                Enqueue(stream);
            }
        }
    }
}
