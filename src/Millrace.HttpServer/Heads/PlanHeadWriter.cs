using Millrace.Http;
using Millrace.StaticFiles.Pages;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Heads;

/// <summary>Writes the head of a plan from lines that are prepared for each asset and each set of fields.</summary>
internal static class PlanHeadWriter
{
    /// <summary>
    /// What is not counted individually: the lines of an asset, Date, Connection, Alt-Svc and Content-Length, the names of fields.
    /// </summary>
    private const int OwnBytesMax = AssetHeadLines.BytesMax + 512 + AlternativeService.BytesMax;

    /// <summary>Enough for the head of every error that no plan decides on.</summary>
    public const int ErrorBytesMax = 768 + AlternativeService.BytesMax;

    /// <summary>For a plan whose own fields are copied: the reactor's scratch holds another plan by then.</summary>
    public static PlanScratch NoScratch { get; } = new();

    private static ReadOnlySpan<byte> PlainText => "text/plain; charset=utf-8"u8;

    /// <summary>
    /// Writes the head of an error that no plan decides on, such as a refused head or a file that cannot be opened. Nobody stores it, so
    /// that it needs no Vary.
    /// </summary>
    public static void WriteError<TWriter>(ref TWriter writer, UnplannedError error)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        writer.Status(error.Status);
        if (error.Status == 503)
        {
            writer.Field("Retry-After"u8, "1"u8);
        }

        // The error of one request says nothing about the next one.
        writer.Field("Cache-Control"u8, "no-store"u8);
        writer.Field("Content-Type"u8, error.Page?.ContentType ?? PlainText);
        if (error.Page is not null)
        {
            writer.Field("Content-Security-Policy"u8, ErrorPage.ContentSecurityPolicy);
        }

        writer.ContentLength(error.Body.Length);
    }

    /// <summary>The room that suffices for the head of a plan.</summary>
    public static int BytesMax<TWriter>(scoped in ResponsePlan plan, PlanScratch scratch)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        FieldLines fields = FieldLines.Of<TWriter>(plan.Fields);
        int bytes = OwnBytesMax + fields.Lines.Length + fields.ContentType.Length;
        foreach (PlanField field in scratch.Fields)
        {
            bytes += field.Length;
        }

        return bytes;
    }

    /// <summary>Writes the fields about the response; the caller adds those about the message (Date, Connection).</summary>
    public static void Write<TWriter>(
        ref TWriter writer, scoped in ResponsePlan plan, PlanScratch scratch, AssetState state, in BodyDescription body)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        WriteShared(ref writer, plan, state, body);
        WriteOwn(ref writer, plan, scratch, state);
    }

    /// <summary>Writes what the responses with the same asset and rules have in common.</summary>
    public static void WriteShared<TWriter>(ref TWriter writer, scoped in ResponsePlan plan, AssetState state, in BodyDescription body)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        FieldLines fields = FieldLines.Of<TWriter>(plan.Fields);
        if (plan.Status == PlanStatus.Ok && plan.Body == PlanBody.Asset && fields.ContentType.IsEmpty && state == AssetState.AsPlanned)
        {
            writer.Lines(AssetHeadLines.Of<TWriter>(plan.Asset!).Ok);
        }
        else
        {
            WriteAbout(ref writer, plan, state, body, fields.ContentType);
        }

        writer.Lines(fields.Lines);
    }

    public static void WriteOwn<TWriter>(ref TWriter writer, scoped in ResponsePlan plan, PlanScratch scratch, AssetState state)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        foreach (PlanField field in scratch.Fields)
        {
            if (PlannedHead.Has(field.Name, plan.Status, state))
            {
                writer.Field(field.Name.Text(), scratch.ValueOf(field));
            }
        }
    }

    /// <summary>
    /// Replaces <see cref="WriteShared"/> for a file that changes while it is read, so that the body may be half of one version and half of
    /// another: no validators, no caching.
    /// </summary>
    public static void WriteUncertain<TWriter>(ref TWriter writer, scoped in ResponsePlan plan, in BodyDescription body)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        WriteAbout(ref writer, plan, AssetState.Changed, body, FieldLines.Of<TWriter>(plan.Fields).ContentType);
        foreach (Field field in plan.Fields.Fields)
        {
            if (field != plan.Fields.ContentType && !CachingFields.Contain(field.NameBytes))
            {
                writer.Field(field.NameBytes, field.ValueBytes);
            }
        }

        writer.Field("Cache-Control"u8, "no-store"u8);
    }

    private static void WriteAbout<TWriter>(
        ref TWriter writer, scoped in ResponsePlan plan, AssetState state, in BodyDescription body, ReadOnlySpan<byte> ruledType)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        // A service that decides on access may have statuses of its own.
        writer.AnyStatus(PlannedHead.StatusOf(plan.Status, state));
        if (plan.Document is not null)
        {
            WriteDocumentFields(ref writer, plan);
        }

        if (plan.Asset is not null)
        {
            WriteAssetLines(ref writer, plan, state);
        }

        if (plan.Body == PlanBody.None)
        {
            return;
        }

        switch (PlannedHead.TypeOf(plan, isGiven: !body.ContentType.IsEmpty))
        {
            case ContentTypeSource.Body:
                writer.Field("Content-Type"u8, body.ContentType);
                break;
            case ContentTypeSource.Rule:
                writer.Lines(ruledType);
                break;
            case ContentTypeSource.Asset:
                writer.Lines(AssetHeadLines.Of<TWriter>(plan.Asset!).ContentType);
                break;
            default:
                writer.Field("Content-Type"u8, plan.Document?.ContentType ?? PlainText);
                break;
        }

        if (body.Bytes != BodyDescription.UnknownBytes)
        {
            writer.ContentLength(body.Bytes);
        }
    }

    private static void WriteDocumentFields<TWriter>(ref TWriter writer, scoped in ResponsePlan plan)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        if (!plan.Document!.EntityTag.IsEmpty)
        {
            writer.Field("ETag"u8, plan.Document.EntityTag);
        }

        ContentCoding coding = PlannedHead.CodingOf(plan);
        if (coding != ContentCoding.Identity)
        {
            writer.Field("Content-Encoding"u8, ContentCodings.NameOf(coding));
        }
    }

    private static void WriteAssetLines<TWriter>(ref TWriter writer, scoped in ResponsePlan plan, AssetState state)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        AssetHeadLines head = AssetHeadLines.Of<TWriter>(plan.Asset!);
        if (PlannedHead.HasValidators(plan, state))
        {
            writer.Lines(head.Validators);
        }

        writer.Lines(head.Vary);
        if (PlannedHead.HasAcceptRanges(plan, state))
        {
            writer.Lines(head.AcceptRanges);
        }

        if (PlannedHead.CodingOf(plan) != ContentCoding.Identity)
        {
            writer.Lines(head.ContentEncoding);
        }
    }
}

/// <summary>The properties of a body that its head announces.</summary>
/// <param name="bytes">Its length, or <see cref="UnknownBytes"/>.</param>
/// <param name="contentType">Its type if it differs from that of the asset or the plan; empty otherwise.</param>
internal readonly ref struct BodyDescription(long bytes, ReadOnlySpan<byte> contentType = default)
{
    /// <summary>The length is unknown until the body ends. Frames or chunks then say where it ends.</summary>
    public const long UnknownBytes = -1;

    public long Bytes { get; } = bytes;

    public ReadOnlySpan<byte> ContentType { get; } = contentType;
}

/// <summary>
/// An error that no plan decides on. Its body is the built-in page, or a line of text; both are made once for each status, so that a flood
/// of errors allocates nothing.
/// </summary>
/// <param name="status">Its status.</param>
/// <param name="prefersHtml">Whether the client prefers HTML; false if the request was not read.</param>
internal readonly struct UnplannedError(int status, bool prefersHtml)
{
    public int Status => status;

    public GeneratedDocument? Page { get; } = prefersHtml ? ErrorPage.Of(status) : null;

    public ReadOnlySpan<byte> Body => Page is null ? PlannedHead.ErrorTextOf(status) : Page.Bytes;
}
