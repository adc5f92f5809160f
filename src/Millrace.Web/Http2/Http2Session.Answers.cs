using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Exchanges;
using Millrace.Web.Heads;

namespace Millrace.Web.Http2;

/// <content>Plans as they are executed: heads, and what of bodies goes out at once.</content>
internal sealed partial class Http2Session
{
    private bool _owesTableUpdate;
    private uint _tableBytes = HpackDecoder.DefaultTableBytes;

    /// <summary>Begins an answer. Another status than the plan's, with nothing written, where its file cannot be opened now.</summary>
    private int Answer(Http2Stream stream, scoped in Plan plan, Adoption adoption, bool includesBody)
    {
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                return AnswerAsset(stream, plan, adoption, includesBody);
            case PlanBody.Document:
                AnswerWhole(stream, plan, plan.Document!.Bytes, plan.Document.Bytes, includesBody);
                return plan.Status;
            case PlanBody.StatusText:
                AnswerWhole(stream, plan, PlainHead.BodyOf(plan.Status), kept: null, includesBody);
                return plan.Status;
            default:
                AnswerWhole(stream, plan, default, kept: null, includesBody);
                return plan.Status;
        }
    }

    private int AnswerAsset(Http2Stream stream, scoped in Plan plan, Adoption adoption, bool includesBody)
    {
        BodyOpening opening = BodySource.TryOpen(adoption, plan.Asset!, out BodySource source);
        if (opening != BodyOpening.Opened)
        {
            return AnswerWithout(stream, plan, opening, includesBody);
        }

        AssetPart part = AssetPart.Of(plan, source);
        if (part.Extent == BodyExtent.Ranges)
        {
            AnswerParts(stream, plan, source, includesBody);
        }
        else
        {
            AnswerPart(stream, plan, source, part, includesBody);
        }

        return plan.Status;
    }

    /// <summary>An error stays that error, with all its fields, when only its page cannot be had.</summary>
    private int AnswerWithout(Http2Stream stream, scoped in Plan plan, BodyOpening opening, bool includesBody)
    {
        if (plan.Status >= 400)
        {
            Plan bare = Plan.Bare(plan.Status, PlanBody.StatusText, plan.Fields);
            AnswerWhole(stream, bare, PlainHead.BodyOf(plan.Status), kept: null, includesBody);
            return plan.Status;
        }

        return PlanStatus.Without(opening);
    }

    private void AnswerPart(
        Http2Stream stream, scoped in Plan plan, in BodySource source, in AssetPart part, bool includesBody)
    {
        (long first, long bytes) = (part.Range.First, part.Range.Length);
        if (!includesBody || bytes == 0)
        {
            AnswerWithHead(stream, plan, source, part.State, new BodyDescription(bytes));
            return;
        }

        // First of all: where there is no memory for the head, the stream closes it.
        stream.Body.Begin(source, first, bytes);
        if (source.Asset.Strategy != BodyStrategy.Baked)
        {
            // Its head is sure only when its first bytes are there.
            stream.Head.Hold(plan, _bench.Scratch, part);
            Enqueue(stream);
            return;
        }

        WriteHead(stream, plan, part.State, new BodyDescription(bytes), FrameFlags.None);
        if (MayGoAtOnce(stream, bytes))
        {
            WriteAtOnce(stream, source.Asset.BakedBody.Slice((int)first, (int)bytes));
            stream.Body.Release();
            EndAnswer(stream);
        }
        else
        {
            Enqueue(stream);
        }
    }

    private void AnswerParts(Http2Stream stream, scoped in Plan plan, in BodySource source, bool includesBody)
    {
        MultipartRanges parts = _bench.PartsOf(plan, source.Size);
        var description = new BodyDescription(parts.Bytes, parts.ContentType);
        if (!includesBody)
        {
            AnswerWithHead(stream, plan, source, AssetState.AsPlanned, description);
            return;
        }

        stream.Body.Begin(source, parts);
        WriteHead(stream, plan, AssetState.AsPlanned, description, FrameFlags.None);
        Enqueue(stream);
    }

    /// <summary>Nothing is read of the source any more: what it knew is in the plan and the description.</summary>
    private void AnswerWithHead(
        Http2Stream stream, scoped in Plan plan, in BodySource source, AssetState state, in BodyDescription description)
    {
        source.Close();
        WriteHead(stream, plan, state, description, FrameFlags.EndStream);
        EndAnswer(stream);
    }

    /// <param name="stream">Whose answer.</param>
    /// <param name="plan">What is answered.</param>
    /// <param name="body">All of the body.</param>
    /// <param name="kept">The same where it stays as it is; otherwise it is copied when it has to wait.</param>
    /// <param name="includesBody">Not for HEAD.</param>
    private void AnswerWhole(Http2Stream stream, scoped in Plan plan, ReadOnlySpan<byte> body, byte[]? kept, bool includesBody)
    {
        bool hasBody = includesBody && body.Length > 0;
        FrameFlags flags = hasBody ? FrameFlags.None : FrameFlags.EndStream;
        WriteHead(stream, plan, AssetState.AsPlanned, new BodyDescription(body.Length), flags);
        EndWith(stream, hasBody ? body : default, kept);
    }

    /// <summary>An error that no plan decides on.</summary>
    private void AnswerPlain(Http2Stream stream, int status, bool includesBody)
    {
        Span<byte> room = BeginHead(PlainHead.BytesMax, out int update);
        var writer = new FieldBlockWriter(room[(FrameHeader.Size + update)..]);
        PlainHead.Write(ref writer, status, date: default);
        stream.Exchange?.Answer(status, includesBody ? ExchangeBody.Text : ExchangeBody.None);
        EndHead(ref writer, room, update, stream, includesBody ? FrameFlags.None : FrameFlags.EndStream);
        EndWith(stream, includesBody ? PlainHead.BodyOf(status) : default, kept: null);
    }

    private void EndWith(Http2Stream stream, ReadOnlySpan<byte> body, byte[]? kept)
    {
        if (!body.IsEmpty && !MayGoAtOnce(stream, body.Length))
        {
            stream.Body.BeginText(kept ?? body.ToArray());
            Enqueue(stream);
            return;
        }

        if (!body.IsEmpty)
        {
            WriteAtOnce(stream, body);
        }

        EndAnswer(stream);
    }

    private void WriteHead(Http2Stream stream, scoped in Plan plan, AssetState state, in BodyDescription body, FrameFlags flags)
    {
        Span<byte> room = BeginHead(AnswerHead.BytesMax<FieldBlockWriter>(plan, _bench.Scratch), out int update);
        var writer = new FieldBlockWriter(room[(FrameHeader.Size + update)..]);
        AnswerHead.Write(ref writer, plan, _bench.Scratch, state, body);
        stream.Exchange?.Answer(plan, state, includesBody: (flags & FrameFlags.EndStream) == 0);
        EndHead(ref writer, room, update, stream, flags);
    }

    /// <summary>Writes a head that was held until the first bytes of its body were there.</summary>
    private void WriteHeld(Http2Stream stream, FrameFlags flags)
    {
        Span<byte> room = BeginHead(stream.Head.BytesMax, out int update);
        var writer = new FieldBlockWriter(room[(FrameHeader.Size + update)..]);
        stream.Head.Tell(stream.Exchange);
        if (stream.Attempts == 0)
        {
            stream.Head.Write(ref writer);
        }
        else
        {
            // A file that was read in one piece has a length; of another no more is sure than where it ends now.
            OutgoingBody body = stream.Body;
            stream.Head.WriteUncertain(ref writer, body.Left == body.Ready ? body.Left : BodyDescription.UnknownBytes);
        }

        EndHead(ref writer, room, update, stream, flags);
        stream.Head.Release();
    }

    /// <summary>Room for a head behind its frame's header, and what has to be said at its beginning.</summary>
    private Span<byte> BeginHead(int blockBytesMax, out int update)
    {
        Span<byte> room = _connection.GetSpan(FrameHeader.Size + HpackEncoder.TableSizeUpdateBytesMax + blockBytesMax);
        update = _owesTableUpdate ? HpackEncoder.WriteTableSizeUpdate(room[FrameHeader.Size..], tableBytes: 0) : 0;
        return room;
    }

    private void EndHead(ref FieldBlockWriter writer, Span<byte> room, int update, Http2Stream stream, FrameFlags flags)
    {
        writer.Lines(_bench.DateBlock);
        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
        }

        _owesTableUpdate = false;
        bytes += update;
        if (bytes <= FrameHeader.DefaultLengthMax)
        {
            FrameWriter.HeadersHeader(room, bytes, flags | FrameFlags.EndHeaders, stream.Id);
            _connection.Advance(FrameHeader.Size + bytes);
        }
        else
        {
            WriteInPieces(room.Slice(FrameHeader.Size, bytes).ToArray(), stream.Id, flags);
        }

        stream.EndsAt = _connection.WrittenBytes;
    }

    /// <summary>Rules can give an answer fields without end; then it allocates.</summary>
    private void WriteInPieces(ReadOnlySpan<byte> block, int streamId, FrameFlags flags)
    {
        FrameWriter.HeadersHeader(_connection.GetSpan(FrameHeader.Size), FrameHeader.DefaultLengthMax, flags, streamId);
        while (true)
        {
            _connection.Advance(FrameHeader.Size);
            int bytes = Math.Min(block.Length, FrameHeader.DefaultLengthMax);
            _connection.Write(block[..bytes]);
            block = block[bytes..];
            if (block.IsEmpty)
            {
                return;
            }

            bytes = Math.Min(block.Length, FrameHeader.DefaultLengthMax);
            FrameFlags end = bytes == block.Length ? FrameFlags.EndHeaders : FrameFlags.None;
            FrameWriter.ContinuationHeader(_connection.GetSpan(FrameHeader.Size), bytes, end, streamId);
        }
    }

    /// <summary>Whether a body need not queue: it is one frame, nobody is before it, and all windows have room.</summary>
    private bool MayGoAtOnce(Http2Stream stream, long bytes) =>
        bytes <= DataBytesMax && bytes <= stream.SendWindow && bytes <= _sendWindow
        && _ready.IsEmpty && _connection.UnsentBytes < _bench.Limits.UnsentBytesMax;

    private void WriteAtOnce(Http2Stream stream, ReadOnlySpan<byte> body)
    {
        FrameWriter.DataHeader(_connection.GetSpan(FrameHeader.Size), body.Length, FrameFlags.EndStream, stream.Id);
        _connection.Advance(FrameHeader.Size);
        _connection.Write(body);
        _sendWindow -= body.Length;
        _sentBytes += body.Length;
        EarnUpdates(body.Length);
        _dataEndsAt = _connection.WrittenBytes;
        stream.Exchange?.AddBody(body.Length, _dataEndsAt);
    }
}
