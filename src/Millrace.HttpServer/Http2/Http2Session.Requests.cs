using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http1;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <content>Requests (RFC 9113, section 8): from their field blocks to the plans of their responses.</content>
internal sealed partial class Http2Session
{
    /// <summary>Requests refused for lack of memory before the connection ends: each costs more than the connection may hold.</summary>
    private const int RefusalsMax = 10;

    /// <summary>The memory of a dynamic table of the default size, including its index.</summary>
    private const int TableBytes = 8 * 1024;

    private readonly HpackDecoder _decoder = new();
    private FieldBlockBuffer _block;
    private int _blockStreamId;
    private FrameFlags _blockFlags;
    private int _preparations;
    private bool _holdsTable;
    private int _refusals;

    /// <summary>The sum of what field blocks exceeded the largest head by.</summary>
    private long _oversizedBytes;
    private (int StreamId, StreamPriority Priority)[]? _earlyPriorities;

    /// <summary>The last request that is served; later ones came after GOAWAY named the last.</summary>
    private int _lastServedId = int.MaxValue;

    private Http2Fault TakeHeaders(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryHeaders(header, payload, out ReadOnlySpan<byte> fragment, out Http2Fault fault))
        {
            return fault;
        }

        // Section 5.1.1: a client's streams have odd numbers.
        if ((header.StreamId & 1) == 0)
        {
            return Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        if (header.Has(FrameFlags.EndHeaders))
        {
            return TakeBlock(header.StreamId, header.Flags, fragment);
        }

        _blockStreamId = header.StreamId;
        _blockFlags = header.Flags;
        _blockBeganAtMs = NowMs;
        _block.Begin();
        return AddToBlock(fragment);
    }

    private Http2Fault TakeContinuation(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!FramePayload.TryContinuation(header, payload, out ReadOnlySpan<byte> fragment, out Http2Fault fault))
        {
            return fault;
        }

        fault = AddToBlock(fragment);
        if (!fault.IsNone || !header.Has(FrameFlags.EndHeaders))
        {
            return fault;
        }

        int streamId = _blockStreamId;
        _blockStreamId = 0;
        fault = TakeBlock(streamId, _blockFlags, _block.Bytes);
        ReturnBlock();
        return fault;
    }

    /// <summary>
    /// A coded block is not larger than its decoded fields. A head that is slightly too large gets an error response; a much larger one is
    /// not read.
    /// </summary>
    private Http2Fault AddToBlock(ReadOnlySpan<byte> fragment)
    {
        int heldBytes = _block.HeldBytes;
        int bytesMax = 2 * _reactorState.HeadLimits.HeadBytesMax;
        int continuationsMax = Math.Max(_limits.ContinuationsMax, bytesMax / FrameHeader.DefaultLengthMax);
        bool isAdded = _block.TryAdd(fragment, bytesMax, 1 + continuationsMax);
        _connection.HoldState(_block.HeldBytes - heldBytes);
        return isAdded ? default : Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
    }

    private void ReturnBlock()
    {
        _connection.HoldState(-_block.HeldBytes);
        _block.Return();
    }

    /// <summary>Accounts the dynamic table, whose memory is allocated with the first entry and kept.</summary>
    private void HoldTable()
    {
        if (!_holdsTable && _decoder.Table.Count > 0)
        {
            _holdsTable = true;
            _connection.HoldState(TableBytes);
        }
    }

    /// <summary>Every block is decoded: later blocks refer to the table that it changes (section 4.3).</summary>
    private Http2Fault TakeBlock(int streamId, FrameFlags flags, ReadOnlySpan<byte> block)
    {
        bool isLast = (flags & FrameFlags.EndStream) != 0;
        if (_streams.Find(streamId) is Http2Stream open)
        {
            return TakeTrailers(open, isLast, block);
        }

        if (!IsIdle(streamId))
        {
            return TakeBlockOfClosed(streamId, block);
        }

        _history.Open(streamId);
        if (streamId > _lastServedId)
        {
            // Section 6.8: the client knows, and sends the request elsewhere.
            return IgnoreBlock(block);
        }

        if (_streams.Count >= _limits.StreamsMax)
        {
            Http2Fault fault = Drop(block);
            return fault.IsNone ? Http2Fault.OfStream(Http2Error.RefusedStream) : fault;
        }

        return TakeRequest(streamId, isLast, block);
    }

    /// <summary>A skipped number cannot be used any more (section 5.1.1), nor can a used one (section 5.1).</summary>
    private Http2Fault TakeBlockOfClosed(int streamId, ReadOnlySpan<byte> block) =>
        MayBeLate(streamId) ? IgnoreBlock(block)
        : Drop(block) is { IsNone: false } fault ? fault
        : _history.Of(streamId) == StreamOutcome.Skipped ? Http2Fault.OfConnection(Http2Error.ProtocolError)
        : Http2Fault.OfConnection(Http2Error.StreamClosed);

    private Http2Fault TakeTrailers(Http2Stream stream, bool isLast, ReadOnlySpan<byte> block)
    {
        var trailers = new TrailerFields(_reactorState.HeadLimits.HeadBytesMax);
        Http2Fault fault = Decode(block, ref trailers);
        return !fault.IsNone ? fault
            : stream.IsReceived ? Http2Fault.OfStream(Http2Error.StreamClosed)
            : !isLast || trailers.Refusal != FieldsRefusal.None ? Http2Fault.OfStream(Http2Error.ProtocolError)
            : EndRequest(stream);
    }

    /// <summary>Ignores a block that the client sent before it knew better. It gets no response, so these blocks are limited.</summary>
    private Http2Fault IgnoreBlock(ReadOnlySpan<byte> block) =>
        Drop(block) is { IsNone: false } fault ? fault
        : !_overheadFrames.TrySpend(1, NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
        : default;

    private Http2Fault Drop(ReadOnlySpan<byte> block)
    {
        var dropped = default(DroppedFields);
        return Decode(block, ref dropped);
    }

    /// <summary>
    /// Decodes a block. References to one large entry can expand a block of a few bytes to megabytes. The excess over the largest head is
    /// summed over the connection, whatever happens to the requests, and ends it after <see cref="Http2Limits.OversizedHeadsMax"/> heads.
    /// </summary>
    private Http2Fault Decode<TSink>(ReadOnlySpan<byte> block, ref TSink sink)
        where TSink : IHpackSink
    {
        long headBytesMax = _reactorState.HeadLimits.HeadBytesMax;
        long most = headBytesMax + (_limits.OversizedHeadsMax * headBytesMax) - _oversizedBytes;
        HpackResult result = _decoder.Decode(block, _reactorState.Http2.ScratchFor(_decoder, block.Length), ref sink, most);
        HoldTable();
        _oversizedBytes += Math.Max(0, _decoder.DecodedBytes - headBytesMax);
        return result switch
        {
            HpackResult.TooLarge => Http2Fault.OfConnection(Http2Error.EnhanceYourCalm),
            HpackResult.Ok => default,
            _ => Http2Fault.OfConnection(Http2Error.CompressionError),
        };
    }

    private Http2Fault TakeRequest(int streamId, bool isLast, ReadOnlySpan<byte> block)
    {
        RequestFields fields = _reactorState.Http2.Fields;
        fields.Begin();
        Http2Fault fault = Decode(block, ref fields);
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

        Http2Stream stream = Open(streamId, PriorityOf(streamId, head, fields.Bytes), head, isLast);
        stream.Exchange = BeginExchange(head, fields.Bytes, refusal);
        if (refusal != FieldsRefusal.None)
        {
            RespondError(stream, FieldsRefusals.StatusOf(refusal), includesBody: head.Method != Method.Head);
        }
        else if (_reactorState.IsUnsecured(_connection, fields.Scheme) || SessionReactorState.IsMisdirected(_isCovered, head, fields.Bytes))
        {
            RespondError(stream, 421, includesBody: head.Method != Method.Head);
        }
        else
        {
            DecideUnlessOverloaded(stream, head, fields.Bytes, preparation: null);
        }

        return default;
    }

    private Http2Stream Open(int streamId, StreamPriority priority, RequestHead head, bool isLast)
    {
        Http2Stream stream = _reactorState.Http2.RentStream();
        stream.Begin(this, _connection, streamId, priority, _initialWindow);
        stream.IsReceived = isLast;
        stream.ContentLength = head.Body == BodyFraming.Length || head.Has(FieldName.ContentLength) ? head.ContentLength : -1;
        stream.ReceiveWindow = DefaultWindowBytes;
        stream.BeganAtMs = stream.ReceivedAtMs = NowMs;
        _streams.Add(stream);
        if (_streams.Count == 1)
        {
            _checkAtMs = NowMs + _checkMs;
            _isWatched = false;
        }

        return stream;
    }

    private HttpExchange? BeginExchange(RequestHead head, ReadOnlySpan<byte> bytes, FieldsRefusal refusal)
    {
        HttpExchange? exchange = _reactorState.Recorder?.Begin(_connection);
        if (exchange is null)
        {
            return null;
        }

        exchange.Protocol = ExchangeProtocol.Http2;
        if (refusal == FieldsRefusal.None)
        {
            exchange.Take(head, bytes);
        }
        else
        {
            exchange.TakeRefused(head, bytes);
        }

        return exchange;
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
        if (_connection.IsToBeRefused)
        {
            if (++_refusals > RefusalsMax)
            {
                Fail(Http2Error.EnhanceYourCalm);
                return;
            }

            _connection.Reactor.NoteRefused();
            // Without a body if it would have to wait: a refused request must hold nothing.
            bool canSend = CanSendAtOnce(stream, ErrorHead.BodyOf(503).Length);
            RespondError(stream, 503, includesBody: canSend && head.Method != Method.Head);
        }
        else
        {
            Decide(stream, head, bytes, preparation);
        }
    }

    /// <summary>Plans and begins the response, or prepares first what the plan needs.</summary>
    private void Decide(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, PendingRequest? preparation)
    {
        SiteBinding binding = _reactorState.BindingFor(head, bytes);
        if (binding.Site.Revalidates && preparation is not { IsRevalidated: true })
        {
            Prepare(stream, preparation, bytes, _reactorState.RevalidateAsync(binding, head, bytes)).IsRevalidated = true;
            return;
        }

        binding.AcquireLatest();
        ResponsePlan plan = _reactorState.Plan(
            binding, head, bytes, preparation?.Authentication ?? default, mayWait: preparation is not { IsPrepared: true });
        if (plan.NeedsVerification)
        {
            Prepare(stream, preparation, bytes, _reactorState.VerifyAsync(binding, head, bytes));
            return;
        }

        if (plan.Preparation is not null)
        {
            Prepare(stream, preparation, bytes, plan.Preparation).IsPrepared = true;
            return;
        }

        bool includesBody = head.Method != Method.Head;
        bool isTooLarge = !stream.IsReceived && head.ContentLength > _reactorState.Limits.SkippedBodyBytesMax && plan.Status < 400;
        if (isTooLarge)
        {
            // Before the response, which may end the stream; the object may then belong to another request.
            AbandonBody(stream);
        }

        int status = isTooLarge ? 413 : Respond(stream, plan, binding, includesBody);
        if (status != plan.Status)
        {
            RespondError(stream, status, includesBody);
        }
    }

    /// <summary>Lets a request wait for a task; <paramref name="before"/> is the state of its earlier waits, if any.</summary>
    private PendingRequest Prepare(Http2Stream stream, PendingRequest? before, ReadOnlySpan<byte> head, Task task)
    {
        PendingRequest preparation = before ?? new PendingRequest(head.ToArray());
        preparation.Task = task;
        stream.Hold(Http2Stream.PreparationBytes + head.Length);
        stream.Preparation = preparation;
        _preparations++;
        _ = NotifyOfAsync(task);
        return preparation;
    }

    private async Task NotifyOfAsync(Task task)
    {
        // The plan that follows handles a failure.
        await task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _connection.Reactor.SwitchTo();
        Notify();
    }

    /// <summary>Continues with the requests whose preparation is complete.</summary>
    private async Task PlanPreparedAsync()
    {
        // Backwards: the last stream takes the index of one that is closed.
        for (int i = _streams.Count - 1; i >= 0; i--)
        {
            Http2Stream stream = _streams.All[i];
            if (stream.Preparation is not { Task.IsCompleted: true } prepared)
            {
                continue;
            }

            stream.Preparation = null;
            stream.Hold(-(Http2Stream.PreparationBytes + prepared.Head.Length));
            _preparations--;
            await prepared.Task;
            if (prepared.Task is Task<AuthenticationResult> verification)
            {
                prepared.Authentication = await verification;
            }

            RequestHead head = _reactorState.Head;
            HeadResult result = RequestHeadParser.Parse(prepared.Head, head, _reactorState.HeadLimits);
            if (!result.IsComplete)
            {
                throw new InvalidOperationException("The stored request head cannot be parsed again.");
            }

            // Memory that was available when the request arrived may no longer be available.
            DecideUnlessOverloaded(stream, head, prepared.Head, prepared);
        }
    }

    private Http2Fault EndRequest(Http2Stream stream)
    {
        stream.IsReceived = true;
        if (!stream.IsBodyAbandoned && stream.ContentLength >= 0 && stream.ReceivedBytes != stream.ContentLength)
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        CloseIfDone(stream);
        return default;
    }

    /// <summary>
    /// Takes no more of a request's body. After the response the client is told that the remaining body is not needed (section 8.1).
    /// </summary>
    private void AbandonBody(Http2Stream stream)
    {
        stream.IsBodyAbandoned = true;
        CloseIfDone(stream);
    }
}
