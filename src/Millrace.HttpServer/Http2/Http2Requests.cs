using System.Buffers;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

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
{
    /// <summary>Requests refused for lack of memory before the connection ends: each costs more than the connection may hold.</summary>
    private const int RefusalsMax = 10;

    private int _refusals;
    private (int StreamId, StreamPriority Priority)[]? _earlyPriorities;

    /// <summary>
    /// Applies a PRIORITY_UPDATE that precedes its request (RFC 9218, section 7.1). They are kept for as many requests as may be open.
    /// </summary>
    public void Prioritize(int streamId, StreamPriority priority)
    {
        _earlyPriorities ??= new (int, StreamPriority)[reactorState.Limits.Http2.StreamsMax];
        _earlyPriorities[(streamId >> 1) % _earlyPriorities.Length] = (streamId, priority);
    }

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

        if (streams.Count >= reactorState.Limits.Http2.StreamsMax)
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
            await prepared.CompleteAsync();
            RequestHead head = reactorState.Head;
            HeadResult result = RequestHeadParser.Parse(prepared.Head!, head, reactorState.HeadLimits);
            if (!result.IsComplete)
            {
                throw new InvalidOperationException("The stored request head cannot be parsed again.");
            }

            // Memory that was available when the request arrived may no longer be available.
            DecideUnlessOverloaded(stream, head, prepared.Head!, prepared);
        }
    }

    private Http2Fault TakeTrailers(Http2Stream stream, bool isLast, ReadOnlySpan<byte> block)
    {
        bool isNeeded = stream.IsProxied || (stream.Preparation is not null && reactorState.HasProxies);
        var trailers = new TrailerFields(reactorState.HeadLimits.HeadBytesMax) { Lines = isNeeded ? new ArrayBufferWriter<byte>() : null };
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
        : !overheadFrames.TrySpend(1, reactorState.NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
        : default;

    private Http2Fault TakeRequest(int streamId, bool isLast, ReadOnlySpan<byte> block)
    {
        RequestFields fields = reactorState.Http2.Fields;
        fields.Begin(lifecycle.AllowsConnectProtocol);
        Http2Fault fault = blocks.Decode(block, fields);
        if (!fault.IsNone)
        {
            return fault;
        }

        HeadRefusal refusal = fields.Conclude();
        RequestHead head = fields.Head;

        // Section 8.1.1: the length does not match the body.
        if (HeadRefusals.IsMalformed(refusal) || (refusal == HeadRefusal.None && isLast && head.ContentLength > 0))
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        Http2Stream stream = streams.Open(streamId, PriorityOf(streamId, head, fields.Bytes), head, isLast);
        stream.IsConnect = fields.IsConnect;
        if (streams.Count == 1)
        {
            timeouts.Restart();
        }

        if (reactorState.Recorder?.Begin(connection) is { } exchange)
        {
            exchange.Protocol = HttpVersion.Http2;
            exchange.Take(head, fields.Bytes, isRefused: refusal != HeadRefusal.None);
            stream.Exchange = exchange;
        }

        if (refusal != HeadRefusal.None)
        {
            var error = new UnplannedError(HeadRefusals.StatusOf(refusal), prefersHtml: false);
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else if (reactorState.IsMisdirected(connection, isCovered, fields.Scheme, head, fields.Bytes))
        {
            var error = new UnplannedError(421, reactorState.Planner.PrefersHtml(head, fields.Bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else
        {
            DecideUnlessOverloaded(stream, head, fields.Bytes, earlier: null);
        }

        return default;
    }

    /// <summary>An earlier PRIORITY_UPDATE takes precedence over the request's own field (RFC 9218, section 7).</summary>
    private StreamPriority PriorityOf(int streamId, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (_earlyPriorities is { } early && early[(streamId >> 1) % early.Length] is var (id, priority) && id == streamId)
        {
            return priority;
        }

        return head.TryGet(FieldName.Priority, out TextRange value) ? StreamPriority.Parse(value.In(bytes)) : StreamPriority.Default;
    }

    private void DecideUnlessOverloaded(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (!connection.IsToBeRefused)
        {
            Decide(stream, head, bytes, earlier);
        }
        else if (++_refusals > RefusalsMax)
        {
            lifecycle.Fail(Http2Error.EnhanceYourCalm);
        }
        else
        {
            connection.Reactor.NoteRefused();
            bool prefersHtml = reactorState.Planner.PrefersHtml(head, bytes);
            responses.RespondOverloaded(stream, prefersHtml, includesBody: head.Method != Method.Head);
        }
    }

    /// <summary>Plans and begins the response, or prepares first what the plan needs.</summary>
    private void Decide(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (reactorState.Planner.Plan(connection, head, bytes, earlier, out SiteBinding binding, out ResponsePlan plan) is { } preparation)
        {
            preparation.Head ??= bytes.ToArray();
            streams.BeginPreparation(stream, preparation);
            _ = NotifyOfAsync(preparation.Task);
            return;
        }

        if (plan.Body == PlanBody.Upstream)
        {
            proxy.Begin(stream, head, bytes, plan);
            return;
        }

        proxy.DropData(stream);
        if (stream.IsConnect && plan.Status < 300)
        {
            // A success would mean that the tunnel is there (RFC 8441, section 5).
            streams.AbandonBody(stream);
            responses.RespondError(stream, new UnplannedError(501, prefersHtml: false), includesBody: true);
            return;
        }

        bool isTooLarge = !stream.Request.IsComplete && head.ContentLength > reactorState.Limits.SkippedBodyBytesMax && plan.Status < 400;
        if (isTooLarge)
        {
            // Before the response, which may end the stream; the object may then belong to another request.
            streams.AbandonBody(stream);
            var error = new UnplannedError(413, reactorState.Planner.PrefersHtml(head, bytes));
            responses.RespondError(stream, error, includesBody: head.Method != Method.Head);
        }
        else
        {
            responses.Respond(stream, plan, binding, head, bytes);
        }
    }

    private async Task NotifyOfAsync(Task task)
    {
        // The plan that follows handles a failure.
        await task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await connection.Reactor.SwitchTo();
        sessionEvent.Set();
    }
}
