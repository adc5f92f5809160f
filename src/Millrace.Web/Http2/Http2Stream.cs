using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.Web.Exchanges;

namespace Millrace.Web.Http2;

/// <summary>
/// One request and its answer, from its head until both are through (RFC 9113, section 5.1): what is left of the answer, and how much of it
/// the client lets through. Used again for other requests, of other connections too. Reactor thread only.
/// </summary>
internal sealed class Http2Stream
{
    /// <summary>
    /// What an answer sends before the next one of its urgency, when neither asked for less: beyond it, it shares with them. So pages and
    /// scripts arrive whole one after the other, and a download does not keep them waiting.
    /// </summary>
    private const long UnsharedBytesMax = 256 * 1024;

    public Http2Stream() => Read = new OpenWait<int>(() => Session!.OnRead(this));

    /// <summary>Null for a stream that is not in use.</summary>
    public Http2Session? Session { get; private set; }

    public int Id { get; private set; }

    public StreamPriority Priority { get; set; }

    public OutgoingBody Body { get; } = new();

    public HeldHead Head { get; } = new();

    /// <summary>The read of the body that is under way.</summary>
    public OpenWait<int> Read { get; }

    public SendState State { get; set; }

    /// <summary>How many bytes the client takes of this stream now; below zero where it has taken back what it had allowed.</summary>
    public long SendWindow { get; set; }

    public long SentBytes { get; set; }

    /// <summary>These at the last look at its window.</summary>
    public long SentAtLook { get; set; }

    /// <summary>Where in the output the last of it ends that was written, by <see cref="Engine.Connection.WrittenBytes"/>.</summary>
    public long EndsAt { get; set; }

    /// <summary>Whether the whole answer is in the output, or none is due.</summary>
    public bool IsAnswered { get; set; }

    /// <summary>Whether the request is through.</summary>
    public bool IsReceived { get; set; }

    /// <summary>What the request's head said of the length of its body; -1 for nothing.</summary>
    public long ContentLength { get; set; }

    /// <summary>Whether no more of the request's body is taken, nor judged.</summary>
    public bool IsGivenUp { get; set; }

    /// <summary>Bytes of the request's body that came, and were dropped.</summary>
    public long ReceivedBytes { get; set; }

    /// <summary>How many bytes of it the client may still send.</summary>
    public int ReceiveWindow { get; set; }

    /// <summary>When its head came.</summary>
    public long BeganAtMs { get; set; }

    /// <summary>When the last of its body came.</summary>
    public long ReceivedAtMs { get; set; }

    /// <summary>Whether it is closed, and only waits for a read that is under way to be used again.</summary>
    public bool IsGone { get; set; }

    /// <summary>Whether a read of its body has ended, and nobody has looked what it has brought.</summary>
    public bool HasRead { get; set; }

    /// <summary>Bytes that count as read ahead for it.</summary>
    public int ReadAheadBytes { get; set; }

    /// <summary>Times its file was begun again, as it changed while it was read.</summary>
    public int Attempts { get; set; }

    /// <summary>The request's fields, while it waits for something off the reactor before it can be planned.</summary>
    public Preparation? Preparation { get; set; }

    /// <summary>What is to be told of it when it is over; null where nobody observes.</summary>
    public Exchange? Exchange { get; set; }

    /// <summary>Judges a client that lets too little through; made when first needed, and kept.</summary>
    public RateWatch? WindowWatch { get; set; }

    /// <summary>Whether <see cref="WindowWatch"/> is at it.</summary>
    public bool IsWatched { get; set; }

    /// <summary>For <see cref="ReadyQueue"/>.</summary>
    public Http2Stream? Next { get; set; }

    /// <inheritdoc cref="Next"/>
    public Http2Stream? Previous { get; set; }

    /// <inheritdoc cref="Next"/>
    public bool IsQueued { get; set; }

    /// <inheritdoc cref="Next"/>
    public bool IsSharing { get; set; }

    /// <inheritdoc cref="Next"/>
    public int Urgency { get; set; }

    public bool WantsToShare => Priority.Delivery == Delivery.Incremental || SentBytes >= UnsharedBytesMax;

    public void Begin(Http2Session session, int id, StreamPriority priority, long sendWindow)
    {
        Session = session;
        Id = id;
        Priority = priority;
        SendWindow = sendWindow;
    }

    /// <summary>The result of the read that has ended: a count, or below zero where the file cannot be read.</summary>
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

    public void Reset()
    {
        Body.Release();
        Head.Release();
        Session = null;
        Preparation = null;
        Exchange = null;
        State = SendState.Idle;
        IsAnswered = IsReceived = IsGivenUp = IsGone = IsWatched = HasRead = false;
        SentBytes = SentAtLook = ReceivedBytes = EndsAt = 0;
        Attempts = ReadAheadBytes = 0;
    }
}
