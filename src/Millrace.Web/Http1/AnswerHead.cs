using Millrace.Http;
using Millrace.StaticFiles.Planning;

namespace Millrace.Web.Http1;

/// <summary>Writes the head that a plan asks for, out of lines that are prepared per asset and per set of fields.</summary>
internal static class AnswerHead
{
    /// <summary>
    /// What is not counted one by one: the lines of an asset, Date, Connection and Content-Length, the names of fields.
    /// </summary>
    private const int OwnBytesMax = AssetHead.BytesMax + 512;

    private static ReadOnlySpan<byte> PlainText => "text/plain; charset=utf-8"u8;

    /// <summary>Room that is enough for the head of a plan.</summary>
    public static int BytesMax(scoped in Plan plan, PlanScratch scratch)
    {
        FieldLines fields = FieldLines.Of(plan.Fields);
        int bytes = OwnBytesMax + fields.Lines.Length + fields.ContentType.Length;
        foreach (PlanField field in scratch.Fields)
        {
            bytes += field.Length;
        }

        return bytes;
    }

    /// <summary>Writes the head and gives its length.</summary>
    /// <param name="room">At least <see cref="BytesMax"/>.</param>
    /// <param name="plan">What is answered.</param>
    /// <param name="scratch">Where the plan's own fields are.</param>
    /// <param name="state">Whether the asset is sent as the plan knows it.</param>
    /// <param name="body">The body's length and, where it is not the asset's, its type.</param>
    /// <param name="date">The Date line.</param>
    /// <param name="connectionLine">The Connection line, or nothing.</param>
    public static int Write(
        Span<byte> room,
        scoped in Plan plan,
        PlanScratch scratch,
        AssetState state,
        in BodyDescription body,
        ReadOnlySpan<byte> date,
        ReadOnlySpan<byte> connectionLine)
    {
        var writer = new ResponseHeadWriter(room);
        FieldLines fields = FieldLines.Of(plan.Fields);
        if (plan.Status == PlanStatus.Ok && plan.Body == PlanBody.Asset && fields.ContentType.IsEmpty && state == AssetState.AsPlanned)
        {
            writer.Lines(AssetHead.Of(plan.Asset!).Ok);
        }
        else
        {
            WriteOwn(ref writer, plan, state, body, fields);
        }

        writer.Lines(fields.Lines);
        foreach (PlanField field in scratch.Fields)
        {
            // A part that is answered with the whole file has no range any more. An error's page may change as it likes.
            if (field.Name != PlanFieldName.ContentRange || state == AssetState.AsPlanned || plan.Status >= 400)
            {
                writer.Field(field.Name.Text(), scratch.ValueOf(field));
            }
        }

        writer.Lines(date);
        writer.Lines(connectionLine);
        ResponseHeadResult result = writer.Finish(out int bytes);
        return result == ResponseHeadResult.Ok
            ? bytes
            : throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
    }

    private static void WriteOwn(
        ref ResponseHeadWriter writer, scoped in Plan plan, AssetState state, in BodyDescription body, FieldLines fields)
    {
        bool hasChanged = state == AssetState.Changed;
        writer.StatusLine(hasChanged && plan.Status < 400 ? PlanStatus.Ok : plan.Status);
        if (plan.Document is not null)
        {
            writer.Field("ETag"u8, plan.Document.EntityTag);
        }

        if (plan.Asset is not null)
        {
            WriteAssetLines(ref writer, plan, hasChanged);
        }

        if (plan.Body == PlanBody.None)
        {
            return;
        }

        if (!body.ContentType.IsEmpty)
        {
            writer.Field("Content-Type"u8, body.ContentType);
        }
        else if (!fields.ContentType.IsEmpty && plan.Body != PlanBody.StatusText)
        {
            writer.Lines(fields.ContentType);
        }
        else if (plan.Asset is not null)
        {
            writer.Lines(AssetHead.Of(plan.Asset).ContentType);
        }
        else
        {
            writer.Field("Content-Type"u8, plan.Document?.ContentType ?? PlainText);
        }

        writer.ContentLength(body.Bytes);
    }

    private static void WriteAssetLines(ref ResponseHeadWriter writer, scoped in Plan plan, bool hasChanged)
    {
        AssetHead head = AssetHead.Of(plan.Asset!);
        bool isAboutAsset = plan.IsAboutAsset && !hasChanged;
        if (isAboutAsset)
        {
            writer.Lines(head.Validators);
        }

        writer.Lines(head.Vary);
        if (plan.Body == PlanBody.None)
        {
            return;
        }

        if (isAboutAsset)
        {
            writer.Lines(head.AcceptRanges);
        }

        writer.Lines(head.ContentEncoding);
    }
}
