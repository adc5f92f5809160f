using System.Buffers;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>The requests of one connection (RFC 9113, section 8), from their field blocks to the plans. Reactor thread only.</summary>
internal sealed class Http2Requests(
    Connection connection,
    SessionReactorState reactorState,
    Http2Lifecycle lifecycle,
    FieldBlockReader blocks,
    Http2Streams streams,
    Http2ResponseWriter responses,
    Http2Proxy proxy,
    StreamTimeouts timeouts,
    SessionEvent sessionEvent,
    TokenBucket overheadFrames,
    Func<ReadOnlySpan<byte>, bool>? isCovered)
    : StreamRequests<FieldBlockWriter>(connection, reactorState, responses, proxy, isCovered)
{
    private readonly EarlyPriorities _priorities = new(reactorState.Limits.Http2.StreamsMax, idStep: 2);

    /// <summary>Applies a PRIORITY_UPDATE that precedes its request (RFC 9218, section 7.1).</summary>
    public void Prioritize(int streamId, StreamPriority priority) => _priorities.Keep(streamId, priority);

    /// <summary>Every block is decoded: later blocks refer to the table that it changes (section 4.3).</summary>
    public Http2Fault TakeBlock(int streamId, FrameFlags flags, ReadOnlySpan<byte> block)
    {
        bool isLast = (flags & FrameFlags.EndStream) != 0;
        if (streams.Find(streamId) is Http2Stream open)
        {
            return TakeTrailers(open, isLast, block);
        }

        if (!streams.IsIdle(streamId))
        {
            return streams.MayBeLate(streamId) ? IgnoreBlock(block)
                : blocks.Drop(block) is { IsNone: false } undecoded ? undecoded
                : Http2Fault.OfConnection(streams.ErrorOfReuse(streamId));
        }

        streams.NoteOpened(streamId);
        if (streamId > lifecycle.LastServedId)
        {
            // Section 6.8: the client knows, and sends the request elsewhere.
            return IgnoreBlock(block);
        }

        if (streams.Count >= ReactorState.Limits.Http2.StreamsMax)
        {
            Http2Fault fault = blocks.Drop(block);
            return fault.IsNone ? Http2Fault.OfStream(Http2Error.RefusedStream) : fault;
        }

        return TakeRequest(streamId, isLast, block);
    }

    /// <summary>Continues with the requests whose preparation is complete.</summary>
    public async Task PlanPreparedAsync()
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = streams.Count - 1; i >= 0; i--)
        {
            Http2Stream stream = streams.All[i];
            if (stream.Preparation is not { Task.IsCompleted: true } prepared)
            {
                continue;
            }

            streams.EndPreparation(stream);
            await AnswerPreparedAsync(stream, prepared);
        }
    }

    protected override void Wait(RequestStream stream, PlanPreparation preparation)
    {
        streams.BeginPreparation((Http2Stream)stream, preparation);
        _ = NotifyOfAsync(preparation.Task);
    }

    protected override void DropBody(RequestStream stream) => proxy.DropData((Http2Stream)stream);

    protected override void AbandonBody(RequestStream stream) => streams.AbandonBody((Http2Stream)stream);

    protected override void EndOverloaded() => lifecycle.Fail(Http2Error.EnhanceYourCalm);

    private Http2Fault TakeTrailers(Http2Stream stream, bool isLast, ReadOnlySpan<byte> block)
    {
        bool isNeeded = stream.IsProxied || (stream.Preparation is not null && ReactorState.HasProxies);
        var trailers = new TrailerFields(ReactorState.HeadLimits.HeadBytesMax) { Lines = isNeeded ? new ArrayBufferWriter<byte>() : null };
        Http2Fault fault = blocks.Decode(block, trailers);
        return !fault.IsNone ? fault
            : stream.Request.IsComplete ? Http2Fault.OfStream(Http2Error.StreamClosed)
            : !isLast || trailers.Refusal != HeadRefusal.None ? Http2Fault.OfStream(Http2Error.ProtocolError)
            : isNeeded ? proxy.TakeTrailers(stream, trailers.Lines!.WrittenSpan)
            : streams.EndRequest(stream);
    }

    /// <summary>Ignores a block that the client sent before it knew better. It gets no response, so these blocks are limited.</summary>
    private Http2Fault IgnoreBlock(ReadOnlySpan<byte> block) =>
        blocks.Drop(block) is { IsNone: false } fault ? fault
        : !overheadFrames.TrySpend(1, ReactorState.NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
        : default;

    private Http2Fault TakeRequest(int streamId, bool isLast, ReadOnlySpan<byte> block)
    {
        RequestFields fields = ReactorState.Http2.Fields;
        fields.Begin(lifecycle.AllowsConnectProtocol);
        Http2Fault fault = blocks.Decode(block, fields);
        if (!fault.IsNone)
        {
            return fault;
        }

        HeadRefusal refusal = fields.Conclude();
        RequestHead head = fields.Head;

        // Section 8.1.1.
        if (IsMalformed(refusal, head, isLast))
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        Http2Stream stream = streams.Open(streamId, _priorities.Of(streamId, head, fields.Bytes), head, isLast);
        stream.IsConnect = fields.IsConnect;
        if (streams.Count == 1)
        {
            timeouts.Restart();
        }

        Answer(stream, fields, refusal, HttpVersion.Http2);
        return default;
    }

    private async Task NotifyOfAsync(Task task)
    {
        // The plan that follows handles a failure.
        await task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await connection.Reactor.SwitchTo();
        sessionEvent.Set();
    }
}
