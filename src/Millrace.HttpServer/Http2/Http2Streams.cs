using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// The streams of one connection (RFC 9113, section 5.1), and the only place that opens and ends them. Reactor thread only.
/// </summary>
internal sealed class Http2Streams(
    Connection connection,
    SessionReactorState reactorState,
    Http2Lifecycle lifecycle,
    StreamHistory history,
    StreamTable table,
    SendQueue queue,
    SessionEvent sessionEvent,
    TokenBucket overheadFrames)
{
    private readonly TokenBucket _resets = new(reactorState.Limits.Http2.ResetsMax, reactorState.Limits.Http2.ResetsPerSecond);

    public int Count => table.Count;

    public ReadOnlySpan<Http2Stream> All => table.All;

    /// <summary>How many requests wait for something off the reactor before they are planned.</summary>
    public int Preparations { get; private set; }

    /// <summary>How many reads of files are in progress, those of closed streams included.</summary>
    public int ReadsInFlight { get; private set; }

    /// <summary>How many reads have ended whose results are not processed yet.</summary>
    public int ReadsEnded { get; private set; }

    /// <summary>How many streams have bodies whose producers have made progress that is not processed yet.</summary>
    public int SourcesProgressed { get; private set; }

    /// <summary>Whether the client uploads to upstreams, for which the connection's window is larger.</summary>
    public bool HasUploads { get; set; }

    /// <summary>Data of all requests that no upstream has taken yet.</summary>
    public long KeptBytes { get; private set; }

    /// <summary>Since when there is no stream, or a part of one.</summary>
    public long IdleSinceMs { get; set; } = reactorState.NowMs;

    public Http2Stream? Find(int id) => table.Find(id);

    /// <summary>
    /// Whether the client has not opened this stream yet. Streams with even numbers would be the server's, which opens none.
    /// </summary>
    public bool IsIdle(int id) => (id & 1) == 0 || id > history.LastId;

    /// <summary>Notes that the client has taken an id out of the idle state (section 5.1).</summary>
    public void NoteOpened(int id) => history.Open(id);

    public Http2Stream Open(int id, StreamPriority priority, RequestHead head, bool isReceived)
    {
        Http2Stream stream = reactorState.Http2.RentStream();
        stream.Begin(this, connection, id, priority, queue.InitialWindow);
        stream.Request = new IncomingBody(head, isReceived, reactorState.NowMs);
        table.Add(stream);
        return stream;
    }

    /// <summary>The error for a frame whose stream is no longer there (section 5.1).</summary>
    public Http2Fault FaultOfClosed(int id) =>
        IsIdle(id) ? Http2Fault.OfConnection(Http2Error.ProtocolError)
        : MayBeLate(id) ? default
        : Http2Fault.OfStream(Http2Error.StreamClosed);

    /// <summary>A skipped id cannot be used any more (section 5.1.1), nor can a used one (section 5.1).</summary>
    public Http2Error ErrorOfReuse(int id) =>
        history.Of(id) == StreamOutcome.Skipped ? Http2Error.ProtocolError : Http2Error.StreamClosed;

    /// <summary>
    /// Whether a frame for a closed stream may have been sent before the client knew of the stream's end, or of the connection's. No clock
    /// can bound that delay (section 5.1).
    /// </summary>
    public bool MayBeLate(int id) =>
        id > lifecycle.LastServedId || history.Of(id) is StreamOutcome.Reset or StreamOutcome.Forgotten;

    /// <summary>Lets a request wait for its preparation, whose memory is accounted.</summary>
    public void BeginPreparation(Http2Stream stream, PlanPreparation preparation)
    {
        stream.BeginPreparation(preparation);
        Preparations++;
    }

    public void EndPreparation(Http2Stream stream)
    {
        stream.EndPreparation();
        Preparations--;
    }

    public void BeginRead(Http2Stream stream, ValueTask<int> read)
    {
        ReadsInFlight++;
        stream.Read.Begin(read);
    }

    /// <summary>Called when a read ends. The stream may be closed, and can be reused then; otherwise the loop takes the result.</summary>
    public void OnRead(Http2Stream stream)
    {
        ReadsInFlight--;
        if (stream.IsClosedWhileReading)
        {
            stream.Body.EndRead(stream.TakeRead());
            reactorState.Http2.Return(stream);
        }
        else
        {
            stream.HasRead = true;
            ReadsEnded++;
        }

        sessionEvent.Set();
    }

    public void OnSourceProgress(Http2Stream stream)
    {
        SourcesProgressed += stream.HasSourceProgress ? 0 : 1;
        stream.HasSourceProgress = true;
        sessionEvent.Set();
    }

    /// <summary>Whether there was progress.</summary>
    public bool TakeSourceProgress(Http2Stream stream)
    {
        bool hasProgress = stream.HasSourceProgress;
        SourcesProgressed -= hasProgress ? 1 : 0;
        stream.HasSourceProgress = false;
        return hasProgress;
    }

    /// <summary>Keeps data of a request, whose memory is accounted.</summary>
    public void KeepData(Http2Stream stream, ReadOnlySpan<byte> data)
    {
        Http2ProxiedStream proxied = stream.OwnProxied;
        int held = proxied.DataBytes;
        proxied.Append(data);
        stream.Hold(proxied.DataBytes - held);
        KeptBytes += data.Length;
    }

    public void ConsumeData(Http2Stream stream, int count)
    {
        Http2ProxiedStream proxied = stream.OwnProxied;
        int held = proxied.DataBytes;
        proxied.ConsumeData(count);
        stream.Hold(proxied.DataBytes - held);
        KeptBytes -= count;
    }

    /// <summary>The result of a read that has ended.</summary>
    public ChunkState TakeRead(Http2Stream stream)
    {
        stream.HasRead = false;
        ReadsEnded--;
        return stream.Body.EndRead(stream.TakeRead());
    }

    /// <summary>Ends a request whose last byte arrived.</summary>
    public Http2Fault EndRequest(Http2Stream stream)
    {
        Http2Fault fault = stream.EndData();
        if (fault.IsNone)
        {
            CloseIfDone(stream);
        }

        return fault;
    }

    /// <summary>
    /// Takes no more of a request's body. After the response a RST_STREAM with NO_ERROR says that the rest is not needed (section 8.1).
    /// </summary>
    public void AbandonBody(Http2Stream stream)
    {
        stream.Request.IsAbandoned = true;
        CloseIfDone(stream);
    }

    public void EndResponse(Http2Stream stream)
    {
        Debug.Assert(!stream.IsQueued && stream.Body.Remaining == 0);

        // An upstream that has answered does not need the rest of the request, except of a tunnel that it has not left.
        stream.Request.IsAbandoned |= stream.IsProxied
            && (!stream.IsConnect || stream.Proxied!.Upstream!.Phase is UpstreamPhase.Complete or UpstreamPhase.Failed);
        stream.State = SendState.Idle;
        stream.IsAnswered = true;
        EndExchange(stream, ResponseEnd.Whole);
        _resets.Earn(1);
        overheadFrames.Earn(4);
        CloseIfDone(stream);
    }

    public void Reset(Http2Stream stream, Http2Error error)
    {
        WriteReset(stream.Id, error);
        Close(stream);
    }

    /// <summary>Resets a stream for a client's error. Errors are as cheap to cause as resets, and are charged equally.</summary>
    public void ResetForError(int id, Http2Error error)
    {
        if (IsIdle(id) || !_resets.TrySpend(1, reactorState.NowMs))
        {
            lifecycle.Fail(IsIdle(id) ? error : Http2Error.EnhanceYourCalm);
        }
        else if (Find(id) is Http2Stream stream)
        {
            Reset(stream, error);
        }
        else
        {
            WriteReset(id, error);
        }
    }

    public Http2Fault OnReset(Http2Stream stream)
    {
        Close(stream);
        return _resets.TrySpend(1, reactorState.NowMs) ? default : Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
    }

    public void CloseAll()
    {
        while (Count > 0)
        {
            Close(All[0]);
        }
    }

    public void CloseIfDone(Http2Stream stream)
    {
        if (!stream.IsAnswered || IsPassing(stream))
        {
            return;
        }

        if (stream.Request.IsComplete)
        {
            Close(stream);
        }
        else if (stream.Request.IsAbandoned)
        {
            Reset(stream, Http2Error.NoError);
        }
    }

    /// <summary>Whether a tunnel's upstream has ended its direction, and has not taken yet what the client sent before its end.</summary>
    private static bool IsPassing(Http2Stream stream) =>
        stream is { IsProxied: true, IsConnect: true, Request.IsComplete: true }
        && stream.Proxied is { IsBodyEnded: false, Upstream.Phase: UpstreamPhase.Tunnel };

    private void WriteReset(int id, Http2Error error)
    {
        history.NoteReset(id);
        connection.Advance(FrameWriter.RstStream(connection.GetSpan(FrameWriter.RstStreamBytes), id, error));
    }

    /// <summary>Removes a stream. Its resources are released at once, or when the kernel has finished a read.</summary>
    private void Close(Http2Stream stream)
    {
        table.Remove(stream);
        EndExchange(stream, stream.HasEnded ? ResponseEnd.Whole : ResponseEnd.Cut);
        if (stream.IsQueued)
        {
            queue.Remove(stream);
        }

        if (stream.Preparation is not null)
        {
            EndPreparation(stream);
        }

        if (stream.Proxied is Http2ProxiedStream proxied)
        {
            KeptBytes -= proxied.Data.Length;
            stream.IsProxied = false;
            proxied.ReleaseUpstream();
        }

        TakeSourceProgress(stream);
        queue.CountReadAhead(stream, 0);
        if (stream.HasRead)
        {
            TakeRead(stream);
        }

        if (stream.Body.IsReading)
        {
            stream.IsClosedWhileReading = true;
        }
        else
        {
            reactorState.Http2.Return(stream);
        }

        IdleSinceMs = reactorState.NowMs;
    }

    private void EndExchange(Http2Stream stream, ResponseEnd end)
    {
        if (stream.Exchange is { } exchange)
        {
            stream.Exchange = null;
            reactorState.Recorder!.End(connection, exchange, end);
        }
    }
}
