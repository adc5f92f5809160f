using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// One request and its response, until both are complete (RFC 9113, section 5.1): what remains of the response, and how much of it the
/// client's windows allow. Reused for other requests, also of other connections. Reactor thread only.
/// </summary>
internal sealed class Http2Stream : RequestStream
{
    public Http2Stream() => Node = new LinkedListNode<Http2Stream>(this);

    /// <summary>Null for a stream that is not in use.</summary>
    public Http2Streams? Streams { get; private set; }

    public int Id { get; private set; }

    /// <summary>How many bytes of the request's body the client may still send.</summary>
    public int ReceiveWindow { get; set; }

    /// <summary>That window when nothing is kept.</summary>
    public int ReceiveWindowMax { get; set; }

    public SendState State { get; set; }

    /// <summary>How many bytes the client accepts of this stream now; negative if it has reduced its window.</summary>
    public long SendWindow { get; set; }

    /// <summary>Where in the output the last byte of this stream ends, by <see cref="Engine.Connection.WrittenBytes"/>.</summary>
    public long EndsAt { get; set; }

    /// <summary>Whether the last frame of the body is sent, although its producer has not reported its end.</summary>
    public bool HasEnded { get; set; }

    /// <summary>Created on first use, and kept.</summary>
    public Http2ProxiedStream OwnProxied => (Http2ProxiedStream)(Proxied ??= new Http2ProxiedStream(this));

    /// <summary>Detects a client that opens the window too slowly; created on first use, and kept.</summary>
    public WindowTimeout? WindowTimeout { get; set; }

    /// <summary>Its place in the <see cref="ReadyQueue"/>.</summary>
    public LinkedListNode<Http2Stream> Node { get; }

    public bool IsQueued => Node.List is not null;

    public void Begin(Http2Streams streams, Connection? connection, int id, StreamPriority priority, long sendWindow)
    {
        BeginShared(connection?.Holdings);
        Streams = streams;
        Id = id;
        Priority = priority;
        SendWindow = sendWindow;
        ReceiveWindow = ReceiveWindowMax = SendQueue.DefaultWindowBytes;
    }

    /// <summary>Counts the data of a frame of the request's body, and the whole frame for the window.</summary>
    public Http2Fault TakeData(int frameBytes, int dataBytes, long nowMs)
    {
        if (frameBytes > ReceiveWindow)
        {
            return Http2Fault.OfStream(Http2Error.FlowControlError);
        }

        ReceiveWindow -= frameBytes;
        return Request.TryTake(dataBytes, nowMs) ? default : Http2Fault.OfStream(Http2Error.ProtocolError);
    }

    /// <summary>Ends the request's body.</summary>
    public Http2Fault EndData() => Request.TryEnd() ? default : Http2Fault.OfStream(Http2Error.ProtocolError);

    public void Reset()
    {
        ResetShared();
        Streams = null;
        State = SendState.Idle;
        HasEnded = false;
        WindowTimeout?.Stop();
        EndsAt = 0;
    }

    protected override void OnRead() => Streams!.OnRead(this);

    protected override void OnSourceProgress() => Streams!.OnSourceProgress(this);
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
