using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http2;

/// <content>Executes plans: writes heads, and the bodies that can be sent at once.</content>
internal sealed partial class Http2Session
{
    /// <summary>Accounted for each of several ranges until it is sent.</summary>
    private const int PartBytes = 256;

    private bool _owesTableUpdate;
    private uint _tableBytes = HpackDecoder.DefaultTableBytes;

    /// <summary>
    /// Begins a response. Returns a status other than the plan's, with nothing written, if the file cannot be opened now.
    /// </summary>
    private int Respond(Http2Stream stream, scoped in ResponsePlan plan, SnapshotLease lease, bool includesBody)
    {
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                return RespondAsset(stream, plan, lease, includesBody);
            case PlanBody.Document:
                RespondBytes(stream, plan, plan.Document!.Bytes, plan.Document.Bytes, includesBody);
                return plan.Status;
            case PlanBody.StatusText:
                RespondBytes(stream, plan, ErrorHead.BodyOf(plan.Status), retained: null, includesBody);
                return plan.Status;
            default:
                RespondBytes(stream, plan, default, retained: null, includesBody);
                return plan.Status;
        }
    }

    private int RespondAsset(Http2Stream stream, scoped in ResponsePlan plan, SnapshotLease lease, bool includesBody)
    {
        BodyOpening opening = BodyOpening.Opened;
        BodySource source;
        if (includesBody && BodySource.IsOpenedOnDemand(plan.Asset!))
        {
            // The file is opened when its first byte may be sent.
            source = BodySource.Defer(lease, plan.Asset!);
        }
        else
        {
            opening = BodySource.TryOpen(lease, plan.Asset!, out source);
        }

        if (opening != BodyOpening.Opened)
        {
            return RespondWithoutFile(stream, plan, opening, includesBody);
        }

        AssetPart part = AssetPart.Of(plan, source);
        if (part.Extent == BodyExtent.Ranges)
        {
            RespondMultipart(stream, plan, source, includesBody);
        }
        else
        {
            RespondSinglePart(stream, plan, source, part, includesBody);
        }

        return plan.Status;
    }

    /// <summary>An error keeps its status and fields if only its page cannot be opened.</summary>
    private int RespondWithoutFile(Http2Stream stream, scoped in ResponsePlan plan, BodyOpening opening, bool includesBody)
    {
        if (plan.Status >= 400)
        {
            ResponsePlan bare = PlannedHead.WithoutPage(plan);
            RespondBytes(stream, bare, ErrorHead.BodyOf(plan.Status), retained: null, includesBody);
            return plan.Status;
        }

        return PlanStatus.ForFailedOpen(opening);
    }

    private void RespondSinglePart(
        Http2Stream stream, scoped in ResponsePlan plan, in BodySource source, in AssetPart part, bool includesBody)
    {
        (long first, long bytes) = (part.Range.First, part.Range.Length);
        if (!includesBody || bytes == 0)
        {
            RespondHeadOnly(stream, plan, source, part.State, new BodyDescription(bytes));
            return;
        }

        // Takes over the source first: if there is no memory for the head, closing the stream closes the source.
        stream.Body.Begin(source, first, bytes);
        if (source.Asset.Strategy != BodyStrategy.InMemory)
        {
            // The head is certain only when the first bytes have been read.
            stream.Head.Hold(plan, _reactorState.Scratch, part);
            stream.Hold(stream.Head.OwnBytes);
            Enqueue(stream);
            return;
        }

        WriteHead(stream, plan, part.State, new BodyDescription(bytes), FrameFlags.None);
        if (CanSendAtOnce(stream, bytes))
        {
            WriteAtOnce(stream, source.Asset.InMemoryBody.Slice((int)first, (int)bytes));
            stream.Body.Release();
            EndResponse(stream);
        }
        else
        {
            Enqueue(stream);
        }
    }

    private void RespondMultipart(Http2Stream stream, scoped in ResponsePlan plan, in BodySource source, bool includesBody)
    {
        MultipartRanges parts = _reactorState.PartsOf(plan, source.Size);
        var description = new BodyDescription(parts.Bytes, parts.ContentType);
        if (!includesBody)
        {
            RespondHeadOnly(stream, plan, source, AssetState.AsPlanned, description);
            return;
        }

        stream.Body.Begin(source, parts);
        stream.Hold(parts.Count * PartBytes);
        WriteHead(stream, plan, AssetState.AsPlanned, description, FrameFlags.None);
        Enqueue(stream);
    }

    /// <summary>Sends the head alone. The source is not read: the plan and the description have what is needed.</summary>
    private void RespondHeadOnly(
        Http2Stream stream, scoped in ResponsePlan plan, in BodySource source, AssetState state, in BodyDescription description)
    {
        source.Close();
        WriteHead(stream, plan, state, description, FrameFlags.EndStream);
        EndResponse(stream);
    }

    /// <param name="stream">The stream of the response.</param>
    /// <param name="plan">The planned response.</param>
    /// <param name="body">The whole body.</param>
    /// <param name="retained">The same bytes if they never change; null to copy the body if it has to wait.</param>
    /// <param name="includesBody">False for HEAD.</param>
    private void RespondBytes(Http2Stream stream, scoped in ResponsePlan plan, ReadOnlySpan<byte> body, byte[]? retained, bool includesBody)
    {
        bool hasBody = includesBody && body.Length > 0;
        FrameFlags flags = hasBody ? FrameFlags.None : FrameFlags.EndStream;
        WriteHead(stream, plan, AssetState.AsPlanned, new BodyDescription(body.Length), flags);
        EndWith(stream, hasBody ? body : default, retained);
    }

    /// <summary>Writes an error that no plan decides on.</summary>
    private void RespondError(Http2Stream stream, int status, bool includesBody)
    {
        Span<byte> room = BeginHead(ErrorHead.BytesMax, out int update);
        var writer = new FieldBlockWriter(room[(FrameHeader.Size + update)..]);
        ErrorHead.Write(ref writer, status, date: default);
        stream.Exchange?.SetResponse(status, includesBody ? ResponseBodySource.Text : ResponseBodySource.None);
        EndHead(ref writer, room, update, stream, includesBody ? FrameFlags.None : FrameFlags.EndStream);
        EndWith(stream, includesBody ? ErrorHead.BodyOf(status) : default, retained: null);
    }

    private void EndWith(Http2Stream stream, ReadOnlySpan<byte> body, byte[]? retained)
    {
        if (!body.IsEmpty && !CanSendAtOnce(stream, body.Length))
        {
            stream.Body.BeginText(retained ?? body.ToArray());
            stream.Hold(retained is null ? body.Length : 0);
            Enqueue(stream);
            return;
        }

        if (!body.IsEmpty)
        {
            WriteAtOnce(stream, body);
        }

        EndResponse(stream);
    }

    private void WriteHead(Http2Stream stream, scoped in ResponsePlan plan, AssetState state, in BodyDescription body, FrameFlags flags)
    {
        Span<byte> room = BeginHead(PlanHead.BytesMax<FieldBlockWriter>(plan, _reactorState.Scratch), out int update);
        var writer = new FieldBlockWriter(room[(FrameHeader.Size + update)..]);
        PlanHead.Write(ref writer, plan, _reactorState.Scratch, state, body);
        stream.Exchange?.SetResponse(plan, state, includesBody: (flags & FrameFlags.EndStream) == 0);
        EndHead(ref writer, room, update, stream, flags);
    }

    /// <summary>Writes a head that was deferred until the first bytes of its body were read.</summary>
    private void WriteDeferredHead(Http2Stream stream, FrameFlags flags)
    {
        Span<byte> room = BeginHead(stream.Head.BytesMax, out int update);
        var writer = new FieldBlockWriter(room[(FrameHeader.Size + update)..]);
        stream.Head.Report(stream.Exchange);
        if (stream.Attempts == 0)
        {
            stream.Head.Write(ref writer);
        }
        else
        {
            // A file that was read in one piece has a length; for a larger file only its present end is known.
            OutgoingBody body = stream.Body;
            stream.Head.WriteUncertain(ref writer, body.Remaining == body.Ready ? body.Remaining : BodyDescription.UnknownBytes);
        }

        EndHead(ref writer, room, update, stream, flags);
        stream.Head.Release();
    }

    /// <summary>Reserves room for a head after its frame header, and writes a pending table size update.</summary>
    private Span<byte> BeginHead(int blockBytesMax, out int update)
    {
        Span<byte> room = _connection.GetSpan(FrameHeader.Size + HpackEncoder.TableSizeUpdateBytesMax + blockBytesMax);
        update = _owesTableUpdate ? HpackEncoder.WriteTableSizeUpdate(room[FrameHeader.Size..], tableBytes: 0) : 0;
        return room;
    }

    private void EndHead(ref FieldBlockWriter writer, Span<byte> room, int update, Http2Stream stream, FrameFlags flags)
    {
        writer.Lines(_reactorState.DateBlock);
        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The response head cannot be written: {result}.");
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

    /// <summary>Splits a block that is larger than a frame, which only long fields of rules cause; it allocates.</summary>
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

    /// <summary>Whether a body need not queue: it fits one frame, no stream is queued before it, and all windows have room.</summary>
    private bool CanSendAtOnce(Http2Stream stream, long bytes) =>
        bytes <= DataBytesMax && bytes <= stream.SendWindow && bytes <= _sendWindow
        && _ready.IsEmpty && _connection.UnsentBytes < _reactorState.Limits.UnsentBytesMax;

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
