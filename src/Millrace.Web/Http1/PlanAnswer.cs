using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Bodies;
using Millrace.Web.Exchanges;
using Millrace.Web.Heads;

namespace Millrace.Web.Http1;

/// <summary>Executes a plan over HTTP/1.1: writes its head and as much of its body as needs no wait.</summary>
/// <param name="connection">Whose output to write to.</param>
/// <param name="bench">The reactor's.</param>
/// <param name="version">The request's.</param>
/// <param name="connectionLine">The Connection line of the answer, or nothing.</param>
/// <param name="includesBody">Not for HEAD.</param>
/// <param name="exchange">Who is to know of it; null where nobody observes.</param>
internal readonly ref struct PlanAnswer(
    Connection connection,
    Workbench bench,
    HttpVersion version,
    ReadOnlySpan<byte> connectionLine,
    bool includesBody,
    Exchange? exchange)
{
    private readonly ReadOnlySpan<byte> _connectionLine = connectionLine;

    /// <summary>
    /// Begins the answer; the body that is left to send is in <paramref name="send"/>. Another status than the plan's, with nothing
    /// written, where the file asked for cannot be opened now.
    /// </summary>
    public int Begin(scoped in Plan plan, Adoption adoption, out BodySend send)
    {
        send = default;
        switch (plan.Body)
        {
            case PlanBody.Asset:
            case PlanBody.Ranges:
                return BeginAsset(plan, adoption, out send);
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

    private int BeginAsset(scoped in Plan plan, Adoption adoption, out BodySend send)
    {
        send = default;
        BodyOpening opening = BodySource.TryOpen(adoption, plan.Asset!, out BodySource source);
        if (opening != BodyOpening.Opened)
        {
            return AnswerWithout(plan, opening);
        }

        try
        {
            AssetPart part = AssetPart.Of(plan, source);
            send = part.Extent == BodyExtent.Ranges ? BeginParts(plan, source) : BeginBody(plan, source, part);
            return plan.Status;
        }
        catch
        {
            // There is no memory for the head. Nobody else has the source yet.
            source.Close();
            throw;
        }
    }

    /// <summary>An error stays that error, with all its fields, when only its page cannot be had.</summary>
    private int AnswerWithout(scoped in Plan plan, BodyOpening opening)
    {
        if (plan.Status >= 400)
        {
            WriteStatusText(Plan.Bare(plan.Status, PlanBody.StatusText, plan.Fields));
            return plan.Status;
        }

        return PlanStatus.Without(opening);
    }

    private BodySend BeginBody(scoped in Plan plan, in BodySource source, in AssetPart part)
    {
        long bytes = part.Range.Length;
        long sentBytes = includesBody ? bytes : 0;
        if (TryAnswerByImage(plan, source, part))
        {
            return default;
        }

        if (source.Asset.Strategy == BodyStrategy.Ring)
        {
            // Its head may be taken back: it must not go out with what is flushed already.
            connection.SendFlushedNow();
        }

        int headBytesMax = AnswerHead.BytesMax<ResponseHeadWriter>(plan, bench.Scratch);
        Span<byte> room = connection.GetSpan(headBytesMax + BodySend.CopiedBytes(source, sentBytes));
        int headBytes = WriteHead(room, plan, part.State, new BodyDescription(bytes));
        var head = new SentHead(default, headBytes, TakesChunks: version == HttpVersion.Http11, exchange);
        return BodySend.Begin(connection, source, part.Extent, part.Range.First, sentBytes, room, head);
    }

    /// <summary>
    /// Answers with what others were answered in this second, where the whole asset is asked for and nothing is special about the answer.
    /// </summary>
    private bool TryAnswerByImage(scoped in Plan plan, in BodySource source, in AssetPart part)
    {
        Asset asset = source.Asset;
        bool isUsual = plan.Status == PlanStatus.Ok && part.Extent == BodyExtent.Whole && part.State == AssetState.AsPlanned
            && includesBody && _connectionLine.IsEmpty && bench.Scratch.Fields.IsEmpty && connection.UnflushedBytes == 0;
        if (!isUsual || !AnswerImages.AreFor(asset))
        {
            return false;
        }

        int bytesMax = AnswerHead.BytesMax<ResponseHeadWriter>(plan, bench.Scratch) + (int)asset.Size;
        if (bench.Images.Find(asset, plan.Fields, bench.DateStamp, bytesMax) is not { } image)
        {
            return false;
        }

        if (!image.IsWritten)
        {
            int headBytes = ComposeHead(image.Room, plan, part.State, new BodyDescription(asset.Size));
            asset.BakedBody.CopyTo(image.Room[headBytes..]);
            image.Finish(headBytes, (int)asset.Size);
        }

        TellOfHead(plan, part.State, image.HeadBytes);
        image.SendOn(connection);
        source.Close();
        return true;
    }

    private BodySend BeginParts(scoped in Plan plan, in BodySource source)
    {
        MultipartRanges parts = bench.PartsOf(plan, source.Size);
        Span<byte> room = connection.GetSpan(AnswerHead.BytesMax<ResponseHeadWriter>(plan, bench.Scratch));
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(parts.Bytes, parts.ContentType)));
        return BodySend.BeginParts(source, parts);
    }

    private BodySend BeginDocument(scoped in Plan plan, byte[] document)
    {
        if (document.Length <= StreamBody.ChunkBytes || !includesBody)
        {
            WriteWhole(plan, document);
            return default;
        }

        Span<byte> room = connection.GetSpan(AnswerHead.BytesMax<ResponseHeadWriter>(plan, bench.Scratch));
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(document.Length)));
        return BodySend.BeginDocument(document);
    }

    private void WriteStatusText(scoped in Plan plan) =>
        WriteWhole(plan, PlainHead.BodyOf(plan.Status));

    private void WriteWhole(scoped in Plan plan, ReadOnlySpan<byte> body)
    {
        int headBytesMax = AnswerHead.BytesMax<ResponseHeadWriter>(plan, bench.Scratch);
        Span<byte> room = connection.GetSpan(headBytesMax);
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(body.Length)));
        if (includesBody)
        {
            connection.Write(body);
        }
    }

    private int WriteHead(Span<byte> room, scoped in Plan plan, AssetState state, in BodyDescription body)
    {
        int bytes = ComposeHead(room, plan, state, body);
        TellOfHead(plan, state, bytes);
        return bytes;
    }

    private int ComposeHead(Span<byte> room, scoped in Plan plan, AssetState state, in BodyDescription body)
    {
        var writer = new ResponseHeadWriter(room);
        AnswerHead.Write(ref writer, plan, bench.Scratch, state, body);
        writer.Lines(bench.DateLine);
        writer.Lines(_connectionLine);
        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
        }

        return bytes;
    }

    private void TellOfHead(scoped in Plan plan, AssetState state, int bytes)
    {
        exchange?.Answer(plan, state, includesBody);
        exchange?.BeginBody(connection.WrittenBytes + bytes);
    }
}
