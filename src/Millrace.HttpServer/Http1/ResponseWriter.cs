using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Http1;

/// <summary>Executes a plan over HTTP/1.1: writes the head, and as much of the body as needs no wait.</summary>
/// <param name="connection">The connection whose output is written to.</param>
/// <param name="reactorState">The state of its reactor.</param>
/// <param name="version">The request's version.</param>
/// <param name="connectionLine">The Connection line of the response, or empty.</param>
/// <param name="includesBody">False for HEAD.</param>
/// <param name="exchange">The record to update; null if there is no observer.</param>
internal readonly ref struct ResponseWriter(
    Connection connection,
    SessionReactorState reactorState,
    HttpVersion version,
    ReadOnlySpan<byte> connectionLine,
    bool includesBody,
    HttpExchange? exchange)
{
    private readonly ReadOnlySpan<byte> _connectionLine = connectionLine;

    /// <summary>
    /// Begins the response; <paramref name="send"/> is the body that remains to be sent. Returns a status other than the plan's, with
    /// nothing written, if the file cannot be opened now.
    /// </summary>
    public int Begin(scoped in ResponsePlan plan, SnapshotLease lease, out BodySender send)
    {
        send = default;
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                return BeginAsset(plan, lease, out send);
            case PlanBody.Document:
                send = BeginDocument(plan, plan.Document!.Bytes);
                return plan.Status;
            case PlanBody.StatusText:
                WriteStatusText(plan);
                return plan.Status;
            default:
                WriteWhole(plan, default);
                return plan.Status;
        }
    }

    private int BeginAsset(scoped in ResponsePlan plan, SnapshotLease lease, out BodySender send)
    {
        send = default;
        BodyOpening opening = BodySource.TryOpen(lease, plan.Asset!, out BodySource source);
        bool wasOpened = opening == BodyOpening.Opened && source.OwnsDescriptor;
        if (wasOpened && !connection.TryHoldFile(source.Descriptor))
        {
            source.Close();
            opening = BodyOpening.Exhausted;
        }

        if (opening != BodyOpening.Opened)
        {
            return RespondWithoutFile(plan, opening);
        }

        try
        {
            AssetPart part = AssetPart.Of(plan, source);
            send = part.Extent == BodyExtent.Ranges ? BeginParts(plan, source) : BeginBody(plan, source, part);
        }
        catch
        {
            // There is no memory for the head. Nothing else owns the source yet.
            source.Close();
            ReturnFile(wasOpened);
            throw;
        }

        // A pending send returns the file at its end.
        ReturnFile(wasOpened && !send.IsPending);
        return plan.Status;
    }

    private void ReturnFile(bool isHeld)
    {
        if (isHeld)
        {
            connection.ReturnFile();
        }
    }

    /// <summary>An error keeps its status and fields if only its page cannot be opened.</summary>
    private int RespondWithoutFile(scoped in ResponsePlan plan, BodyOpening opening)
    {
        if (plan.Status >= 400)
        {
            WriteStatusText(PlannedHead.WithoutPage(plan));
            return plan.Status;
        }

        return PlanStatus.ForFailedOpen(opening);
    }

    private BodySender BeginBody(scoped in ResponsePlan plan, in BodySource source, in AssetPart part)
    {
        long bytes = part.Range.Length;
        long sentBytes = includesBody ? bytes : 0;
        if (TryRespondFromCache(plan, source, part))
        {
            return default;
        }

        if (source.Asset.Strategy == BodyStrategy.SingleRead)
        {
            // This head may be retracted, so it must not be sent together with earlier flushed output.
            connection.SendFlushedNow();
        }

        int headBytesMax = PlanHead.BytesMax<ResponseHeadWriter>(plan, reactorState.Scratch);
        Span<byte> room = connection.GetSpan(headBytesMax + BodySender.CopiedBytes(source, sentBytes));
        int headBytes = WriteHead(room, plan, part.State, new BodyDescription(bytes));
        var head = new UnflushedHead(default, headBytes, TakesChunks: version == HttpVersion.Http11, exchange);
        return BodySender.Begin(connection, source, part.Extent, part.Range.First, sentBytes, room, head);
    }

    /// <summary>Sends the response from the cache if the whole asset is requested and the response has no fields of its own.</summary>
    private bool TryRespondFromCache(scoped in ResponsePlan plan, in BodySource source, in AssetPart part)
    {
        Asset asset = source.Asset;
        bool isUsual = plan.Status == PlanStatus.Ok && part.Extent == BodyExtent.Whole && part.State == AssetState.AsPlanned
            && includesBody && _connectionLine.IsEmpty && reactorState.Scratch.Fields.IsEmpty && connection.UnflushedBytes == 0;
        if (!isUsual || !ResponseCache.IsCacheable(asset))
        {
            return false;
        }

        int bytesMax = PlanHead.BytesMax<ResponseHeadWriter>(plan, reactorState.Scratch) + (int)asset.Size;
        if (reactorState.Responses.Find(asset, plan.Fields, reactorState.DateStamp, bytesMax) is not { } cached)
        {
            return false;
        }

        if (!cached.IsWritten)
        {
            int headBytes = ComposeHead(cached.Room, plan, part.State, new BodyDescription(asset.Size));
            asset.InMemoryBody.CopyTo(cached.Room[headBytes..]);
            cached.Finish(headBytes, (int)asset.Size);
        }

        RecordHead(plan, part.State, cached.HeadBytes);
        cached.SendOn(connection);
        source.Close();
        return true;
    }

    private BodySender BeginParts(scoped in ResponsePlan plan, in BodySource source)
    {
        MultipartRanges parts = reactorState.PartsOf(plan, source.Size);
        Span<byte> room = connection.GetSpan(PlanHead.BytesMax<ResponseHeadWriter>(plan, reactorState.Scratch));
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(parts.Bytes, parts.ContentType)));
        return BodySender.BeginParts(source, parts);
    }

    private BodySender BeginDocument(scoped in ResponsePlan plan, byte[] document)
    {
        if (document.Length <= StreamedBody.ChunkBytes || !includesBody)
        {
            WriteWhole(plan, document);
            return default;
        }

        Span<byte> room = connection.GetSpan(PlanHead.BytesMax<ResponseHeadWriter>(plan, reactorState.Scratch));
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(document.Length)));
        return BodySender.BeginDocument(document);
    }

    private void WriteStatusText(scoped in ResponsePlan plan) =>
        WriteWhole(plan, ErrorHead.BodyOf(plan.Status));

    private void WriteWhole(scoped in ResponsePlan plan, ReadOnlySpan<byte> body)
    {
        int headBytesMax = PlanHead.BytesMax<ResponseHeadWriter>(plan, reactorState.Scratch);
        Span<byte> room = connection.GetSpan(headBytesMax);
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(body.Length)));
        if (includesBody)
        {
            connection.Write(body);
        }
    }

    private int WriteHead(Span<byte> room, scoped in ResponsePlan plan, AssetState state, in BodyDescription body)
    {
        int bytes = ComposeHead(room, plan, state, body);
        RecordHead(plan, state, bytes);
        return bytes;
    }

    private int ComposeHead(Span<byte> room, scoped in ResponsePlan plan, AssetState state, in BodyDescription body)
    {
        var writer = new ResponseHeadWriter(room);
        PlanHead.Write(ref writer, plan, reactorState.Scratch, state, body);
        writer.Lines(reactorState.DateLine);
        writer.Lines(_connectionLine);
        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The response head cannot be written: {result}.");
        }

        return bytes;
    }

    private void RecordHead(scoped in ResponsePlan plan, AssetState state, int bytes)
    {
        exchange?.SetResponse(plan, state, includesBody);
        exchange?.BeginBody(connection.WrittenBytes + bytes);
    }
}
