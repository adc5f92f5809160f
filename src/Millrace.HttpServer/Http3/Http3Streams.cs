using System.Runtime.InteropServices;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;
using Millrace.Quic.Streams;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// The request streams of one connection, and the only place that opens and ends them. A stream that has ended stays until its QUIC stream
/// is closed, that is until the client knows: its record is reported then. Reactor thread only.
/// </summary>
internal sealed class Http3Streams(IClientConnection connection, SessionReactorState reactorState, IHttp3StreamOwner owner)
{
    private readonly List<Http3Stream> _streams = [];
    private Action<object?>? _run;
    private bool _isRunDue;

    /// <summary>Continues the responses whose reads or producers have made progress, once in an iteration of the reactor's loop.</summary>
    public Action? Progressed { private get; set; }

    public int Count => _streams.Count;

    /// <summary>Valid until a stream is opened or closed.</summary>
    public ReadOnlySpan<Http3Stream> All => CollectionsMarshal.AsSpan(_streams);

    /// <summary>How many reads of files are in progress, those of closed streams included.</summary>
    public int ReadsInFlight { get; private set; }

    /// <summary>How many reads have ended whose results are not processed yet.</summary>
    public int ReadsEnded { get; private set; }

    /// <summary>How many streams have bodies whose producers have made progress that is not processed yet.</summary>
    public int SourcesProgressed { get; private set; }

    /// <summary>Bytes of files that were read, or are being read, and are not in a QUIC stream yet.</summary>
    public long ReadAheadBytes { get; private set; }

    /// <summary>Since when there is no stream, or a part of one.</summary>
    public long IdleSinceMs { get; set; } = reactorState.NowMs;

    /// <summary>The client has opened a stream for a request.</summary>
    public Http3Stream Open(QuicStream quic)
    {
        Http3Stream stream = reactorState.Http3.RentStream();
        stream.Begin(this, connection.Holdings, quic);
        stream.Index = _streams.Count;
        _streams.Add(stream);
        return stream;
    }

    /// <summary>The head of a request has arrived.</summary>
    public void BeginRequest(Http3Stream stream, RequestHead head, bool isComplete, StreamPriority priority)
    {
        stream.Request = new IncomingBody(head, isComplete, reactorState.NowMs);
        Prioritize(stream, priority);
    }

    public static void Prioritize(Http3Stream stream, StreamPriority priority)
    {
        stream.Priority = priority;
        ApplyPriority(stream);
    }

    /// <summary>Has the stream share with others, if it is to.</summary>
    public static void ApplyPriority(Http3Stream stream)
    {
        bool isShared = stream.WantsToShare;
        if (stream.Quic.Urgency != stream.Priority.Urgency || stream.Quic.IsIncremental != isShared)
        {
            stream.Quic.SetPriority(stream.Priority.Urgency, isShared);
        }
    }

    public void BeginRead(Http3Stream stream, ValueTask<int> read)
    {
        ReadsInFlight++;
        stream.Read.Begin(read);
    }

    /// <summary>Called when a read ends. The stream may be closed, and can be reused then.</summary>
    public void OnRead(Http3Stream stream)
    {
        ReadsInFlight--;
        if (stream.IsClosedWhileReading)
        {
            stream.Body.EndRead(stream.TakeRead());
            reactorState.Http3.Return(stream);
            if (ReadsInFlight == 0)
            {
                owner.OnReadsEnded();
            }
        }
        else if (stream.IsCut)
        {
            stream.Body.EndRead(stream.TakeRead());
            stream.Body.Release();
        }
        else
        {
            stream.HasRead = true;
            ReadsEnded++;
            RunSoon();
        }
    }

    /// <summary>The result of a read that has ended.</summary>
    public ChunkState TakeRead(Http3Stream stream)
    {
        stream.HasRead = false;
        ReadsEnded--;
        return stream.Body.EndRead(stream.TakeRead());
    }

    public void OnSourceProgress(Http3Stream stream)
    {
        SourcesProgressed += stream.HasSourceProgress ? 0 : 1;
        stream.HasSourceProgress = true;
        RunSoon();
    }

    /// <summary>Whether there was progress.</summary>
    public bool TakeSourceProgress(Http3Stream stream)
    {
        bool hasProgress = stream.HasSourceProgress;
        SourcesProgressed -= hasProgress ? 1 : 0;
        stream.HasSourceProgress = false;
        return hasProgress;
    }

    public void CountReadAhead(Http3Stream stream, int bytes)
    {
        ReadAheadBytes += bytes - stream.ReadAheadBytes;
        stream.ReadAheadBytes = bytes;
    }

    /// <summary>Counts bytes of a response's body, which end at the end of what is written.</summary>
    public void CountBody(Http3Stream stream, int bytes)
    {
        stream.SentBytes += bytes;
        stream.Exchange?.AddBody(bytes, stream.WrittenEnd);
        owner.OnBodyWritten(bytes);
    }

    /// <summary>Has <see cref="Progressed"/> called at the end of the iteration.</summary>
    public void RunSoon()
    {
        if (!_isRunDue)
        {
            _isRunDue = true;
            connection.Reactor.Defer(_run ??= _ => Run(), null);
        }
    }

    /// <summary>The last byte of a request has arrived.</summary>
    public static bool TryEndRequest(Http3Stream stream) => stream.Request.TryEnd();

    /// <summary>
    /// Takes no more of a request's body. STOP_SENDING with H3_NO_ERROR says at once that the rest is not needed (section 4.1): until the
    /// response ends, the client could send without end. What has arrived is dropped.
    /// </summary>
    public static void AbandonBody(Http3Stream stream)
    {
        stream.Request.IsAbandoned = true;
        if (!stream.Request.IsComplete)
        {
            stream.Quic.StopSending(Http3Error.NoError);
        }
    }

    /// <summary>The whole response is written.</summary>
    public void EndResponse(Http3Stream stream)
    {
        stream.State = ResponseState.Idle;
        stream.IsAnswered = true;
        stream.Body.ReleaseUnreferenced();
        ReleaseUpstreamIfDone(stream);
        stream.Exchange?.End(stream.WrittenEnd, ResponseEnd.Whole);
        stream.Finish();
        owner.OnAnswered(stream);
        StopIfDone(stream);
    }

    /// <summary>Ends a stream at once, with its response if that is not written whole.</summary>
    public void Reset(Http3Stream stream, long code)
    {
        Cut(stream);
        stream.Quic.Abort(code);
        stream.Quic.StopSending(code);
    }

    /// <summary>The client does not want the response. QUIC has reset this side; the request is of no use any more.</summary>
    public void OnStopSending(Http3Stream stream)
    {
        Cut(stream);
        stream.Quic.StopSending(Http3Error.RequestCancelled);
    }

    /// <summary>The QUIC stream is closed: the client has everything, or knows that it will not get it.</summary>
    public void OnClosed(Http3Stream stream)
    {
        Cut(stream);
        Http3Stream last = _streams[^1];
        _streams[stream.Index] = last;
        last.Index = stream.Index;
        _streams.RemoveAt(_streams.Count - 1);
        if (stream.Exchange is { } exchange)
        {
            stream.Exchange = null;
            reactorState.Recorder!.Report(exchange, stream.Quic.Send.FinalSize);
        }

        if (stream.Body.IsReading)
        {
            stream.IsClosedWhileReading = true;
        }
        else
        {
            reactorState.Http3.Return(stream);
        }

        IdleSinceMs = reactorState.NowMs;
    }

    /// <summary>The connection is over. Streams whose files are being read return by themselves.</summary>
    public void CloseAll()
    {
        while (_streams.Count > 0)
        {
            OnClosed(_streams[^1]);
        }
    }

    private static void StopIfDone(Http3Stream stream)
    {
        if (stream.IsAnswered && stream.Request is { IsAbandoned: true, IsComplete: false })
        {
            stream.Quic.StopSending(Http3Error.NoError);
        }
    }

    /// <summary>An upstream that has answered does not need the rest of the request, except of a tunnel that it has not left.</summary>
    private static void ReleaseUpstreamIfDone(Http3Stream stream)
    {
        if (stream.IsProxied && (!stream.IsConnect || stream.Proxied!.Upstream!.Phase is UpstreamPhase.Complete or UpstreamPhase.Failed))
        {
            stream.Request.IsAbandoned = true;
            stream.IsProxied = false;
            stream.Proxied!.ReleaseUpstream();
        }
    }

    /// <summary>Releases what a stream needs for its request and response. A second call has no effect.</summary>
    private void Cut(Http3Stream stream)
    {
        if (stream.IsCut)
        {
            return;
        }

        if (!stream.IsAnswered)
        {
            stream.Exchange?.End(stream.WrittenEnd, ResponseEnd.Cut);
        }

        stream.IsCut = true;
        owner.OnCut(stream);
        stream.State = ResponseState.Idle;
        stream.DropKept();
        if (stream.Preparation is not null)
        {
            stream.EndPreparation();
        }

        TakeSourceProgress(stream);
        CountReadAhead(stream, 0);
        if (stream.HasRead)
        {
            TakeRead(stream);
        }

        if (!stream.Body.IsReading)
        {
            stream.Body.Release();
            stream.Head.Release();
        }

        if (stream.IsProxied)
        {
            stream.IsProxied = false;
            stream.Proxied!.ReleaseUpstream();
        }

        RunSoon();
    }

    private void Run()
    {
        _isRunDue = false;
        if (_streams.Count > 0)
        {
            try
            {
                Progressed?.Invoke();
            }
#pragma warning disable CA1031 // The reactor must not fail with a connection: as a handler's exception, it ends that, and is logged.
            catch (Exception error)
#pragma warning restore CA1031
            {
                owner.Fail(error);
            }

            owner.ScheduleSend();
        }
    }
}
