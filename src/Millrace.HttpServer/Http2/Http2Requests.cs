using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Http1;
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

        streams.Use(streamId);
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
            await prepared.Task;
            if (prepared.Task is Task<AuthenticationResult> verification)
            {
                prepared.Authentication = await verification;
            }

            RequestHead head = reactorState.Head;
            HeadResult result = RequestHeadParser.Parse(prepared.Head, head, reactorState.HeadLimits);
            if (!result.IsComplete)
            {
                throw new InvalidOperationException("The stored request head cannot be parsed again.");
            }

            // Memory that was available when the request arrived may no longer be available.
            DecideUnlessOverloaded(stream, head, prepared.Head, prepared);
        }
    }

    private Http2Fault TakeTrailers(Http2Stream stream, bool isLast, ReadOnlySpan<byte> block)
    {
        var trailers = new TrailerFields(reactorState.HeadLimits.HeadBytesMax);
        Http2Fault fault = blocks.Decode(block, ref trailers);
        return !fault.IsNone ? fault
            : stream.Request.IsComplete ? Http2Fault.OfStream(Http2Error.StreamClosed)
            : !isLast || trailers.Refusal != FieldsRefusal.None ? Http2Fault.OfStream(Http2Error.ProtocolError)
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
        fields.Begin();
        Http2Fault fault = blocks.Decode(block, ref fields);
        if (!fault.IsNone)
        {
            return fault;
        }

        FieldsRefusal refusal = fields.Conclude();
        RequestHead head = fields.Head;

        // Section 8.1.1: the length does not match the body.
        if (FieldsRefusals.IsMalformed(refusal) || (refusal == FieldsRefusal.None && isLast && head.ContentLength > 0))
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        Http2Stream stream = streams.Open(streamId, PriorityOf(streamId, head, fields.Bytes), head, isLast);
        if (streams.Count == 1)
        {
            timeouts.Restart();
        }

        if (reactorState.Recorder?.Begin(connection) is { } exchange)
        {
            exchange.Protocol = ExchangeProtocol.Http2;
            exchange.Take(head, fields.Bytes, isRefused: refusal != FieldsRefusal.None);
            stream.Exchange = exchange;
        }

        if (refusal != FieldsRefusal.None)
        {
            responses.RespondError(stream, FieldsRefusals.StatusOf(refusal), includesBody: head.Method != Method.Head);
        }
        else if (reactorState.IsUnsecured(connection, fields.Scheme) || SessionReactorState.IsMisdirected(isCovered, head, fields.Bytes))
        {
            responses.RespondError(stream, 421, includesBody: head.Method != Method.Head);
        }
        else
        {
            DecideUnlessOverloaded(stream, head, fields.Bytes, preparation: null);
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

    private void DecideUnlessOverloaded(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PendingRequest? preparation)
    {
        if (!connection.IsToBeRefused)
        {
            Decide(stream, head, bytes, preparation);
        }
        else if (++_refusals > RefusalsMax)
        {
            lifecycle.Fail(Http2Error.EnhanceYourCalm);
        }
        else
        {
            connection.Reactor.NoteRefused();
            responses.RespondOverloaded(stream, includesBody: head.Method != Method.Head);
        }
    }

    /// <summary>Plans and begins the response, or prepares first what the plan needs.</summary>
    private void Decide(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PendingRequest? preparation)
    {
        SiteBinding binding = reactorState.BindingFor(head, bytes);
        if (binding.Site.Revalidates && preparation is not { IsRevalidated: true })
        {
            Prepare(stream, preparation, bytes, reactorState.RevalidateAsync(binding, head, bytes)).IsRevalidated = true;
            return;
        }

        binding.AcquireLatest();
        ResponsePlan plan = reactorState.Plan(
            binding, head, bytes, preparation?.Authentication ?? default, mayWait: preparation is not { IsPrepared: true });
        if (plan.NeedsVerification)
        {
            Prepare(stream, preparation, bytes, reactorState.VerifyAsync(binding, head, bytes));
            return;
        }

        if (plan.Preparation is not null)
        {
            Prepare(stream, preparation, bytes, plan.Preparation).IsPrepared = true;
            return;
        }

        bool includesBody = head.Method != Method.Head;
        bool isTooLarge = !stream.Request.IsComplete && head.ContentLength > reactorState.Limits.SkippedBodyBytesMax && plan.Status < 400;
        if (isTooLarge)
        {
            // Before the response, which may end the stream; the object may then belong to another request.
            streams.AbandonBody(stream);
        }

        int status = isTooLarge ? 413 : responses.Respond(stream, plan, binding, includesBody);
        if (status != plan.Status)
        {
            responses.RespondError(stream, status, includesBody);
        }
    }

    /// <summary>Lets a request wait for a task; <paramref name="before"/> is the state of its earlier waits, if any.</summary>
    private PendingRequest Prepare(Http2Stream stream, PendingRequest? before, ReadOnlySpan<byte> head, Task task)
    {
        PendingRequest preparation = before ?? new PendingRequest(head.ToArray());
        preparation.Task = task;
        streams.BeginPreparation(stream, preparation);
        _ = NotifyOfAsync(task);
        return preparation;
    }

    private async Task NotifyOfAsync(Task task)
    {
        // The plan that follows handles a failure.
        await task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await connection.Reactor.SwitchTo();
        sessionEvent.Set();
    }
}

/// <summary>
/// A request that waits for something off the reactor: verification of its credentials, revalidation of its site, or a long listing. Its
/// head is kept in the equivalent HTTP/1.1 form, and parsed again when the wait is over.
/// </summary>
internal sealed class PendingRequest(byte[] head)
{
    public ReadOnlySpan<byte> Head => head;

    /// <summary>The result of the verification.</summary>
    public AuthenticationResult Authentication { get; set; }

    public bool IsRevalidated { get; set; }

    /// <summary>Whether what its plan needs is prepared.</summary>
    public bool IsPrepared { get; set; }

    /// <summary>
    /// The task that it waits for. It is kept until the request is planned again, because its result may have no other reference.
    /// </summary>
    public Task? Task { get; set; }
}
