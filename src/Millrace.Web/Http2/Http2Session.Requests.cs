using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Exchanges;

namespace Millrace.Web.Http2;

/// <content>Requests (RFC 9113, section 8): from their field blocks to the plan of their answers.</content>
internal sealed partial class Http2Session
{
    private readonly HpackDecoder _decoder = new();
    private BlockBuffer _block;
    private int _blockStreamId;
    private FrameFlags _blockFlags;
    private int _preparations;
    private (int StreamId, StreamPriority Priority)[]? _saidPriorities;

    /// <summary>The last request that is served; those beyond came after the client was told which is the last.</summary>
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
        _block.Return();
        return fault;
    }

    /// <summary>Coded it takes no more than decoded. What is a little too large is answered so; what is far too large, not read.</summary>
    private Http2Fault AddToBlock(ReadOnlySpan<byte> fragment)
    {
        int bytesMax = 2 * _bench.HeadLimits.HeadBytesMax;
        int continuationsMax = Math.Max(_limits.ContinuationsMax, bytesMax / FrameHeader.DefaultLengthMax);
        return _block.TryAdd(fragment, bytesMax, 1 + continuationsMax) ? default : Http2Fault.OfConnection(Http2Error.EnhanceYourCalm);
    }

    /// <summary>A block is decoded in any case: those behind it refer to its table (section 4.3).</summary>
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
            // Section 6.8: it was told, and asks somebody else.
            return PassOver(block);
        }

        if (_streams.Count >= _limits.StreamsMax)
        {
            return TryDrop(block)
                ? Http2Fault.OfStream(Http2Error.RefusedStream)
                : Http2Fault.OfConnection(Http2Error.CompressionError);
        }

        return TakeRequest(streamId, isLast, block);
    }

    /// <summary>A number that was passed over cannot be used any more (section 5.1.1), nor one that was used (section 5.1).</summary>
    private Http2Fault TakeBlockOfClosed(int streamId, ReadOnlySpan<byte> block) =>
        MayBeLate(streamId) ? PassOver(block)
        : !TryDrop(block) ? Http2Fault.OfConnection(Http2Error.CompressionError)
        : _history.Of(streamId) == StreamFate.Skipped ? Http2Fault.OfConnection(Http2Error.ProtocolError)
        : Http2Fault.OfConnection(Http2Error.StreamClosed);

    private Http2Fault TakeTrailers(Http2Stream stream, bool isLast, ReadOnlySpan<byte> block)
    {
        var trailers = new TrailerFields(_bench.HeadLimits.HeadBytesMax);
        if (_decoder.Decode(block, _bench.Http2.ScratchFor(_decoder, block.Length), ref trailers) != HpackResult.Ok)
        {
            return Http2Fault.OfConnection(Http2Error.CompressionError);
        }

        return stream.IsReceived ? Http2Fault.OfStream(Http2Error.StreamClosed)
            : !isLast || trailers.Refusal != FieldsRefusal.None ? Http2Fault.OfStream(Http2Error.ProtocolError)
            : EndRequest(stream);
    }

    /// <summary>What was sent before the client knew better. Nobody answers it, so it has to be little.</summary>
    private Http2Fault PassOver(ReadOnlySpan<byte> block) =>
        !TryDrop(block) ? Http2Fault.OfConnection(Http2Error.CompressionError)
        : !_idleFrames.TrySpend(1, NowMs) ? Http2Fault.OfConnection(Http2Error.EnhanceYourCalm)
        : default;

    private bool TryDrop(ReadOnlySpan<byte> block)
    {
        var dropped = default(DroppedFields);
        return _decoder.Decode(block, _bench.Http2.ScratchFor(_decoder, block.Length), ref dropped) == HpackResult.Ok;
    }

    private Http2Fault TakeRequest(int streamId, bool isLast, ReadOnlySpan<byte> block)
    {
        RequestFields fields = _bench.Http2.Fields;
        fields.Begin();
        if (_decoder.Decode(block, _bench.Http2.ScratchFor(_decoder, block.Length), ref fields) != HpackResult.Ok)
        {
            return Http2Fault.OfConnection(Http2Error.CompressionError);
        }

        FieldsRefusal refusal = fields.Conclude();
        RequestHead head = fields.Head;

        // Section 8.1.1: a length that the body does not have.
        if (FieldsRefusals.IsMalformed(refusal) || (refusal == FieldsRefusal.None && isLast && head.ContentLength > 0))
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        Http2Stream stream = Open(streamId, PriorityOf(streamId, head, fields.Bytes), head, isLast);
        stream.Exchange = BeginExchange(head, fields.Bytes, refusal);
        if (refusal != FieldsRefusal.None)
        {
            AnswerPlain(stream, FieldsRefusals.StatusOf(refusal), includesBody: head.Method != Method.Head);
        }
        else
        {
            DecideUnlessOverloaded(stream, head, fields.Bytes, preparation: null);
        }

        return default;
    }

    private Http2Stream Open(int streamId, StreamPriority priority, RequestHead head, bool isLast)
    {
        Http2Stream stream = _bench.Http2.RentStream();
        stream.Begin(this, streamId, priority, _initialWindow);
        stream.IsReceived = isLast;
        stream.ContentLength = head.Body == BodyFraming.Length || head.Has(FieldName.ContentLength) ? head.ContentLength : -1;
        stream.ReceiveWindow = DefaultWindowBytes;
        stream.BeganAtMs = stream.ReceivedAtMs = NowMs;
        _streams.Add(stream);
        if (_streams.Count == 1)
        {
            _lookAtMs = NowMs + _lookMs;
            _isWatched = false;
        }

        return stream;
    }

    private Exchange? BeginExchange(RequestHead head, ReadOnlySpan<byte> bytes, FieldsRefusal refusal)
    {
        Exchange? exchange = _bench.Ledger?.Begin(_connection);
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

    /// <summary>What a PRIORITY_UPDATE has said before counts for more than the request's own field (RFC 9218, section 7).</summary>
    private StreamPriority PriorityOf(int streamId, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (_saidPriorities is { } said && said[(streamId >> 1) % said.Length] is var (id, priority) && id == streamId)
        {
            return priority;
        }

        return head.TryGet(FieldName.Priority, out TextRange value) ? StreamPriority.Parse(value.In(bytes)) : StreamPriority.Default;
    }

    private void DecideUnlessOverloaded(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, Preparation? preparation)
    {
        if (_bench.IsOverloaded)
        {
            _connection.Reactor.NoteRefused();
            AnswerPlain(stream, 503, includesBody: head.Method != Method.Head);
        }
        else
        {
            Decide(stream, head, bytes, preparation);
        }
    }

    /// <summary>Plans the answer and begins it, or has done first what it takes to plan it.</summary>
    private void Decide(Http2Stream stream, RequestHead head, ReadOnlySpan<byte> bytes, Preparation? preparation)
    {
        SitePost post = _bench.PostFor(head, bytes);
        if (post.Site.Revalidates && preparation is not { IsRevalidated: true })
        {
            Prepare(stream, preparation, bytes, _bench.RevalidateAsync(post, head, bytes)).IsRevalidated = true;
            return;
        }

        Adoption adoption = post.AdoptLatest();
        Plan plan = _bench.Plan(post, head, bytes, preparation?.Verdict ?? default, mayWait: preparation is not { IsPrepared: true });
        if (plan.NeedsVerification)
        {
            Prepare(stream, preparation, bytes, _bench.VerifyAsync(post, head, bytes));
            return;
        }

        if (plan.Preparation is not null)
        {
            Prepare(stream, preparation, bytes, plan.Preparation).IsPrepared = true;
            return;
        }

        bool includesBody = head.Method != Method.Head;
        bool isTooLarge = !stream.IsReceived && head.ContentLength > _bench.Limits.SkippedBodyBytesMax && plan.Status < 400;
        if (isTooLarge)
        {
            // Before the answer, which may be the stream's end, and the stream another's then.
            GiveUpRequest(stream);
        }

        int status = isTooLarge ? 413 : Answer(stream, plan, adoption, includesBody);
        if (status != plan.Status)
        {
            AnswerPlain(stream, status, includesBody);
        }
    }

    /// <summary>Has a request wait for a task, with what it has waited for before, if anything.</summary>
    private Preparation Prepare(Http2Stream stream, Preparation? before, ReadOnlySpan<byte> head, Task task)
    {
        Preparation preparation = before ?? new Preparation(head.ToArray());
        preparation.Task = task;
        stream.Preparation = preparation;
        _preparations++;
        _ = NotifyOfAsync(task);
        return preparation;
    }

    private async Task NotifyOfAsync(Task task)
    {
        // Whoever plans on sees how it ended.
        await task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _connection.Reactor.SwitchTo();
        Notify();
    }

    /// <summary>Goes on with the requests that have what they waited for.</summary>
    private async Task PlanPreparedAsync()
    {
        // Backwards: one that is closed is replaced by the last.
        for (int i = _streams.Count - 1; i >= 0; i--)
        {
            Http2Stream stream = _streams.All[i];
            if (stream.Preparation is not { Task.IsCompleted: true } prepared)
            {
                continue;
            }

            stream.Preparation = null;
            _preparations--;
            await prepared.Task;
            if (prepared.Task is Task<Verdict> verification)
            {
                prepared.Verdict = await verification;
            }

            RequestHead head = _bench.Head;
            HeadResult result = RequestHeadParser.Parse(prepared.Head, head, _bench.HeadLimits);
            if (!result.IsComplete)
            {
                throw new InvalidOperationException("A head that was kept cannot be read again.");
            }

            // It has waited, and what there was room for when it came there may not be any more.
            DecideUnlessOverloaded(stream, head, prepared.Head, prepared);
        }
    }

    private Http2Fault EndRequest(Http2Stream stream)
    {
        stream.IsReceived = true;
        if (!stream.IsGivenUp && stream.ContentLength >= 0 && stream.ReceivedBytes != stream.ContentLength)
        {
            return Http2Fault.OfStream(Http2Error.ProtocolError);
        }

        CloseIfDone(stream);
        return default;
    }

    /// <summary>No more of its body is taken. Once it is answered the client is told that the rest is not wanted (section 8.1).</summary>
    private void GiveUpRequest(Http2Stream stream)
    {
        stream.IsGivenUp = true;
        CloseIfDone(stream);
    }
}
