using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// One request and its response, until both are complete (RFC 9113, section 5.1): what remains of the response, and how much of it the
/// client's windows allow. Reused for other requests, also of other connections. Reactor thread only.
/// </summary>
internal sealed class Http2Stream
{
    /// <summary>
    /// After this many bytes a response shares its urgency level with others, even if the client did not ask for that. Pages and scripts
    /// thus arrive whole, one after the other, and a download does not delay them.
    /// </summary>
    private const long UnsharedBytesMax = 256 * 1024;

    /// <summary>The memory of this object and its parts.</summary>
    private const int OwnBytes = 1024;

    /// <summary>The memory of a request that waits off the reactor, without its head: a task and what it waits for.</summary>
    public const int PreparationBytes = 1024;

    private Connection? _connection;
    private int _heldBytes;
    private IncomingBody _request;

    public Http2Stream()
    {
        Node = new LinkedListNode<Http2Stream>(this);
        Read = new PendingWait<int>(() => Streams!.OnRead(this));
        SourceProgressed = () => Streams!.OnSourceProgress(this);
    }

    /// <summary>Null for a stream that is not in use.</summary>
    public Http2Streams? Streams { get; private set; }

    public int Id { get; private set; }

    public StreamPriority Priority { get; set; }

    public ref IncomingBody Request => ref _request;

    public OutgoingBody Body { get; } = new();

    public DeferredHead Head { get; } = new();

    /// <summary>The read of the body that is in progress.</summary>
    public PendingWait<int> Read { get; }

    public SendState State { get; set; }

    /// <summary>How many bytes the client accepts of this stream now; negative if it has reduced its window.</summary>
    public long SendWindow { get; set; }

    public long SentBytes { get; set; }

    /// <summary>Where in the output the last byte of this stream ends, by <see cref="Engine.Connection.WrittenBytes"/>.</summary>
    public long EndsAt { get; set; }

    /// <summary>Whether the last frame of the body is sent, although its producer has not reported its end.</summary>
    public bool HasEnded { get; set; }

    /// <summary>Whether the whole response is in the output, or none is due.</summary>
    public bool IsAnswered { get; set; }

    /// <summary>Whether it is closed, and is reused when its read in progress ends.</summary>
    public bool IsClosedWhileReading { get; set; }

    /// <summary>Whether a read of its body has ended and its result is not processed yet.</summary>
    public bool HasRead { get; set; }

    public int ReadAheadBytes { get; set; }

    /// <summary>To be called when the producer of the body has made progress.</summary>
    public Action SourceProgressed { get; }

    /// <summary>Whether it was called, and that is not processed yet.</summary>
    public bool HasSourceProgress { get; set; }

    /// <summary>Whether the client asked for a tunnel (RFC 8441).</summary>
    public bool IsConnect { get; set; }

    /// <summary>Whether an upstream has the request.</summary>
    public bool IsProxied { get; set; }

    /// <summary>Created on first use, and kept.</summary>
    public ProxiedStream? Proxied { get; set; }

    /// <summary>The request while it waits for something off the reactor before it can be planned.</summary>
    public PlanPreparation? Preparation { get; set; }

    /// <summary>The record that is reported at the end; null if there is no observer.</summary>
    public HttpExchange? Exchange { get; set; }

    /// <summary>Detects a client that opens the window too slowly; created on first use, and kept.</summary>
    public WindowTimeout? WindowTimeout { get; set; }

    /// <summary>Its place in the <see cref="ReadyQueue"/>.</summary>
    public LinkedListNode<Http2Stream> Node { get; }

    public bool IsQueued => Node.List is not null;

    public bool WantsToShare => Priority.Delivery == Delivery.Incremental || SentBytes >= UnsharedBytesMax;

    public void Begin(Http2Streams streams, Connection? connection, int id, StreamPriority priority, long sendWindow)
    {
        _connection = connection;
        Hold(OwnBytes);
        Streams = streams;
        Id = id;
        Priority = priority;
        SendWindow = sendWindow;
    }

    /// <summary>The result of the read that has ended: a count, or negative if the file cannot be read.</summary>
    public int TakeRead()
    {
        try
        {
            return Read.Take();
        }
        catch (Exception error) when (error is IOException or OperationCanceledException)
        {
            return -1;
        }
    }

    /// <summary>Accounts memory to the connection until <see cref="Reset"/>; negative for memory that was released.</summary>
    public void Hold(int bytes)
    {
        _heldBytes += bytes;
        _connection?.ChargeManaged(bytes);
    }

    public void Reset()
    {
        Body.Release();
        Head.Release();
        Proxied?.Reset();
        Hold(-_heldBytes);
        _connection = null;
        Streams = null;
        Preparation = null;
        Exchange = null;
        State = SendState.Idle;
        HasEnded = IsAnswered = IsClosedWhileReading = HasRead = IsConnect = IsProxied = false;
        WindowTimeout?.Stop();
        SentBytes = EndsAt = 0;
        ReadAheadBytes = 0;
    }
}

/// <summary>The body of a request: it is counted and dropped, because no response needs it.</summary>
internal struct IncomingBody(RequestHead head, bool isComplete, long nowMs)
{
    /// <summary>The length that the head announced; -1 for none.</summary>
    private readonly long _announcedBytes =
        head.Body == BodyFraming.Length || head.Has(FieldName.ContentLength) ? head.ContentLength : -1;
    private readonly long _beganAtMs = nowMs;
    private long _receivedAtMs = nowMs;

    public bool IsComplete { get; private set; } = isComplete;

    /// <summary>Whether no more of it is taken or checked.</summary>
    public bool IsAbandoned { get; set; }

    public long Bytes { get; private set; }

    /// <summary>How many bytes the client may still send.</summary>
    public int Window { get; set; } = SendQueue.DefaultWindowBytes;

    /// <summary>The window when nothing is kept.</summary>
    public int WindowMax { get; set; } = SendQueue.DefaultWindowBytes;

    /// <summary>Counts the data of a frame, and the whole frame for the window.</summary>
    public Http2Fault Take(int frameBytes, int dataBytes, long nowMs)
    {
        if (frameBytes > Window)
        {
            return Http2Fault.OfStream(Http2Error.FlowControlError);
        }

        Window -= frameBytes;
        Bytes += dataBytes;
        _receivedAtMs = nowMs;
        return !IsAbandoned && _announcedBytes >= 0 && Bytes > _announcedBytes ? Http2Fault.OfStream(Http2Error.ProtocolError) : default;
    }

    public Http2Fault End()
    {
        IsComplete = true;
        return !IsAbandoned && _announcedBytes >= 0 && Bytes != _announcedBytes ? Http2Fault.OfStream(Http2Error.ProtocolError) : default;
    }

    /// <summary>Whether the client sends it too slowly.</summary>
    public readonly bool IsLate(long nowMs, HttpServerLimits limits) => !IsComplete
        && (nowMs - _receivedAtMs >= limits.ReceiveStall.TotalMilliseconds || nowMs - _beganAtMs >= limits.Body.TotalMilliseconds);
}

/// <summary>What a response waits for.</summary>
internal enum SendState : byte
{
    /// <summary>Nothing: there is no response, or all of it is in the output.</summary>
    Idle,

    /// <summary>Its position in the ready queue.</summary>
    Ready,

    /// <summary>The disk.</summary>
    Reading,

    /// <summary>The producer of its body.</summary>
    Producer,

    /// <summary>Chunks of other streams to be sent: read-ahead is limited.</summary>
    ReadAhead,

    /// <summary>The client's WINDOW_UPDATE for the stream.</summary>
    StreamWindow,

    /// <summary>The client's WINDOW_UPDATE for the connection.</summary>
    ConnectionWindow,
}
