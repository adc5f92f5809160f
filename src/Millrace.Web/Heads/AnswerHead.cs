using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.Web.Heads;

/// <summary>Writes the head that a plan asks for, out of lines that are prepared per asset and per set of fields.</summary>
internal static class AnswerHead
{
    /// <summary>
    /// What is not counted one by one: the lines of an asset, Date, Connection and Content-Length, the names of fields.
    /// </summary>
    private const int OwnBytesMax = AssetHead.BytesMax + 512;

    private static ReadOnlySpan<byte> PlainText => "text/plain; charset=utf-8"u8;

    /// <summary>Room that is enough for the head of a plan.</summary>
    public static int BytesMax<TWriter>(scoped in Plan plan, PlanScratch scratch)
        where TWriter : IHeadWriter, allows ref struct
    {
        FieldLines fields = FieldLines.Of<TWriter>(plan.Fields);
        int bytes = OwnBytesMax + fields.Lines.Length + fields.ContentType.Length;
        foreach (PlanField field in scratch.Fields)
        {
            bytes += field.Length;
        }

        return bytes;
    }

    /// <summary>The status that is written: what is answered of a file that has changed is all of it.</summary>
    public static int StatusOf(int planned, AssetState state) =>
        state == AssetState.Changed && planned < 400 ? PlanStatus.Ok : planned;

    /// <summary>Writes what a head says of its answer; what it says of its message (Date, Connection) is for the caller to add.</summary>
    /// <param name="writer">With room for <see cref="BytesMax"/>.</param>
    /// <param name="plan">What is answered.</param>
    /// <param name="scratch">Where the plan's own fields are.</param>
    /// <param name="state">Whether the asset is sent as the plan knows it.</param>
    /// <param name="body">The body's length and, where it is not the asset's, its type.</param>
    public static void Write<TWriter>(
        ref TWriter writer, scoped in Plan plan, PlanScratch scratch, AssetState state, in BodyDescription body)
        where TWriter : IHeadWriter, allows ref struct
    {
        WriteShared(ref writer, plan, state, body);
        WriteOwn(ref writer, plan, scratch, state);
    }

    /// <summary>What the answers about the same asset by the same rules have in common.</summary>
    public static void WriteShared<TWriter>(ref TWriter writer, scoped in Plan plan, AssetState state, in BodyDescription body)
        where TWriter : IHeadWriter, allows ref struct
    {
        FieldLines fields = FieldLines.Of<TWriter>(plan.Fields);
        if (plan.Status == PlanStatus.Ok && plan.Body == PlanBody.Asset && fields.ContentType.IsEmpty && state == AssetState.AsPlanned)
        {
            writer.Lines(AssetHead.Of<TWriter>(plan.Asset!).Ok);
        }
        else
        {
            WriteAbout(ref writer, plan, state, body, fields.ContentType);
        }

        writer.Lines(fields.Lines);
    }

    /// <summary>What this plan adds.</summary>
    public static void WriteOwn<TWriter>(ref TWriter writer, scoped in Plan plan, PlanScratch scratch, AssetState state)
        where TWriter : IHeadWriter, allows ref struct
    {
        foreach (PlanField field in scratch.Fields)
        {
            // A part that is answered with the whole file has no range any more. An error's page may change as it likes.
            if (field.Name != PlanFieldName.ContentRange || state == AssetState.AsPlanned || plan.Status >= 400)
            {
                writer.Field(field.Name.Text(), scratch.ValueOf(field));
            }
        }
    }

    /// <summary>
    /// In place of <see cref="WriteShared"/> for a file that changes while it is read, so that what is sent may be half of one version and
    /// half of another: without validators, and not to be stored.
    /// </summary>
    public static void WriteUncertain<TWriter>(ref TWriter writer, scoped in Plan plan, in BodyDescription body)
        where TWriter : IHeadWriter, allows ref struct
    {
        WriteAbout(ref writer, plan, AssetState.Changed, body, FieldLines.Of<TWriter>(plan.Fields).ContentType);
        foreach (Field field in plan.Fields.Fields)
        {
            if (field != plan.Fields.ContentType && !StoringFields.Contain(field.NameBytes))
            {
                writer.Field(field.NameBytes, field.ValueBytes);
            }
        }

        writer.Field("Cache-Control"u8, "no-store"u8);
    }

    private static void WriteAbout<TWriter>(
        ref TWriter writer, scoped in Plan plan, AssetState state, in BodyDescription body, ReadOnlySpan<byte> ruledType)
        where TWriter : IHeadWriter, allows ref struct
    {
        bool hasChanged = state == AssetState.Changed;
        writer.Status(StatusOf(plan.Status, state));
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
        else if (!ruledType.IsEmpty && plan.Body != PlanBody.StatusText)
        {
            writer.Lines(ruledType);
        }
        else if (plan.Asset is not null)
        {
            writer.Lines(AssetHead.Of<TWriter>(plan.Asset).ContentType);
        }
        else
        {
            writer.Field("Content-Type"u8, plan.Document?.ContentType ?? PlainText);
        }

        if (body.Bytes != BodyDescription.UnknownBytes)
        {
            writer.ContentLength(body.Bytes);
        }
    }

    private static void WriteAssetLines<TWriter>(ref TWriter writer, scoped in Plan plan, bool hasChanged)
        where TWriter : IHeadWriter, allows ref struct
    {
        AssetHead head = AssetHead.Of<TWriter>(plan.Asset!);
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
