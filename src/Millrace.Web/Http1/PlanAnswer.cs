using Millrace.Engine;
using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.Web.Bodies;

namespace Millrace.Web.Http1;

/// <summary>Executes a plan over HTTP/1.1: writes its head and as much of its body as needs no wait.</summary>
/// <param name="connection">Whose output to write to.</param>
/// <param name="bench">The reactor's.</param>
/// <param name="version">The request's.</param>
/// <param name="connectionLine">The Connection line of the answer, or nothing.</param>
/// <param name="includesBody">Not for HEAD.</param>
internal readonly ref struct PlanAnswer(
    Connection connection, Workbench bench, HttpVersion version, ReadOnlySpan<byte> connectionLine, bool includesBody)
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
                WriteWhole(plan, plan.Document!.Bytes);
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

        if (!source.IsAsCatalogued)
        {
            send = BeginBody(plan, source, AssetState.Changed, BodyExtent.Whole, 0, source.Size);
        }
        else if (plan.Body == PlanBody.Asset)
        {
            send = BeginBody(plan, source, AssetState.AsPlanned, BodyExtent.Whole, 0, source.Size);
        }
        else if (plan.Ranges.Length == 1)
        {
            send = BeginBody(plan, source, AssetState.AsPlanned, BodyExtent.Range, plan.Ranges[0].First, plan.Ranges[0].Length);
        }
        else
        {
            send = BeginParts(plan, source);
        }

        return plan.Status;
    }

    /// <summary>An error stays that error, with all its fields, when only its page cannot be had.</summary>
    private int AnswerWithout(scoped in Plan plan, BodyOpening opening)
    {
        if (plan.Status >= 400)
        {
            WriteStatusText(Plan.Bare(plan.Status, PlanBody.StatusText, plan.Fields));
            return plan.Status;
        }

        return opening == BodyOpening.Exhausted ? PlanStatus.ServiceUnavailable : PlanStatus.NotFound;
    }

    private BodySend BeginBody(
        scoped in Plan plan, in BodySource source, AssetState state, BodyExtent extent, long first, long bytes)
    {
        long sentBytes = includesBody ? bytes : 0;
        if (source.Asset.Strategy == BodyStrategy.Ring)
        {
            // Its head may be taken back: it must not go out with what is flushed already.
            connection.SendFlushedNow();
        }

        int headBytesMax = AnswerHead.BytesMax(plan, bench.Scratch);
        Span<byte> room = connection.GetSpan(headBytesMax + BodySend.CopiedBytes(source, sentBytes));
        int headBytes = WriteHead(room, plan, state, new BodyDescription(bytes));
        bool takesChunks = version == HttpVersion.Http11;
        return BodySend.Begin(connection, source, extent, first, sentBytes, room, headBytes, takesChunks);
    }

    private BodySend BeginParts(scoped in Plan plan, in BodySource source)
    {
        ReadOnlySpan<byte> ruled = FieldLines.Of(plan.Fields).ContentTypeValue;
        ReadOnlySpan<byte> partType = ruled.IsEmpty ? plan.Asset!.ContentType.Bytes : ruled;
        var parts = new MultipartRanges(plan.Ranges, source.Size, partType, bench.NextBoundary());
        Span<byte> room = connection.GetSpan(AnswerHead.BytesMax(plan, bench.Scratch));
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(parts.Bytes, parts.ContentType)));
        return BodySend.BeginParts(source, parts);
    }

    private void WriteStatusText(scoped in Plan plan) =>
        // "404 Not Found\r\n" out of "HTTP/1.1 404 Not Found\r\n" is the body as well.
        WriteWhole(plan, StatusLine.Of(plan.Status)["HTTP/1.1 ".Length..]);

    private void WriteWhole(scoped in Plan plan, ReadOnlySpan<byte> body)
    {
        int headBytesMax = AnswerHead.BytesMax(plan, bench.Scratch);
        Span<byte> room = connection.GetSpan(headBytesMax);
        connection.Advance(WriteHead(room, plan, AssetState.AsPlanned, new BodyDescription(body.Length)));
        if (includesBody)
        {
            connection.Write(body);
        }
    }

    private int WriteHead(Span<byte> room, scoped in Plan plan, AssetState state, in BodyDescription body) =>
        AnswerHead.Write(room, plan, bench.Scratch, state, body, bench.DateLine, _connectionLine);
}
