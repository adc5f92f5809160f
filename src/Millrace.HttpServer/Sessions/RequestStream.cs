using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Proxying;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// One request and its response on a stream of HTTP/2 or HTTP/3: what both protocols need of it. Reused for other requests, also of other
/// connections. Reactor thread only.
/// </summary>
internal abstract class RequestStream
{
    /// <summary>
    /// After this many bytes a response shares its urgency level with others, even if the client did not ask for that. Pages and scripts
    /// thus arrive whole, one after the other, and a download does not delay them.
    /// </summary>
    protected const long UnsharedBytesMax = 256 * 1024;

    /// <summary>The memory of a request that waits off the reactor, without its head: a task and what it waits for.</summary>
    private const int PreparationBytes = 1024;

    /// <summary>The memory of this object and its parts.</summary>
    private const int OwnBytes = 1024;

    private ConnectionHoldings? _holdings;
    private int _heldBytes;
    private IncomingBody _request;

    protected RequestStream()
    {
        Read = new PendingWait<int>(OnRead);
        SourceProgressed = OnSourceProgress;
    }

    public StreamPriority Priority { get; set; }

    public ref IncomingBody Request => ref _request;

    public OutgoingBody Body { get; } = new();

    public DeferredHead Head { get; } = new();

    /// <summary>The read of the body that is in progress.</summary>
    public PendingWait<int> Read { get; }

    /// <summary>Bytes of the response's body that were sent, or are in the stream's buffer.</summary>
    public long SentBytes { get; set; }

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

    /// <summary>Whether the client asked for a tunnel (RFC 8441, RFC 9220).</summary>
    public bool IsConnect { get; set; }

    /// <summary>Whether an upstream has the request.</summary>
    public bool IsProxied { get; set; }

    /// <summary>Created on first use, and kept.</summary>
    public ProxiedStream? Proxied { get; protected set; }

    /// <summary>The request while it waits for something off the reactor before it can be planned.</summary>
    public PlanPreparation? Preparation { get; private set; }

    /// <summary>The record that is reported at the end; null if there is no observer.</summary>
    public HttpExchange? Exchange { get; set; }

    public bool WantsToShare => Priority.Delivery == Delivery.Incremental || SentBytes >= UnsharedBytesMax;

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

    /// <summary>Accounts memory to the connection until <see cref="ResetShared"/>; negative for memory that was released.</summary>
    public void Hold(int bytes)
    {
        _heldBytes += bytes;
        _holdings?.ChargeManaged(bytes);
    }

    /// <summary>Lets the request wait for its preparation, whose memory is accounted.</summary>
    public void BeginPreparation(PlanPreparation preparation)
    {
        Hold(PreparationBytes + preparation.Head!.Length);
        Preparation = preparation;
    }

    public void EndPreparation()
    {
        Hold(-(PreparationBytes + Preparation!.Head!.Length));
        Preparation = null;
    }

    protected abstract void OnRead();

    protected abstract void OnSourceProgress();

    protected void BeginShared(ConnectionHoldings? holdings)
    {
        _holdings = holdings;
        Hold(OwnBytes);
    }

    /// <summary>For another request.</summary>
    protected void ResetShared()
    {
        Proxied?.Reset();
        Body.Release();
        Head.Release();
        Hold(-_heldBytes);
        _holdings = null;
        Preparation = null;
        Exchange = null;
        IsAnswered = IsClosedWhileReading = HasRead = HasSourceProgress = IsConnect = IsProxied = false;
        SentBytes = 0;
        ReadAheadBytes = 0;
    }
}
