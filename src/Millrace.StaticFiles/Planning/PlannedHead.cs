using Millrace.Http;

namespace Millrace.StaticFiles.Planning;

/// <summary>What the head of a plan's response has once the asset was opened, for any protocol and any writer.</summary>
internal static class PlannedHead
{
    /// <summary>The status to write: a file that has changed is sent whole.</summary>
    public static int StatusOf(int planned, AssetState state) => state == AssetState.Changed && planned < 400 ? PlanStatus.Ok : planned;

    /// <summary>Whether it has the asset's ETag and Last-Modified.</summary>
    public static bool HasValidators(scoped in ResponsePlan plan, AssetState state) => plan.IsAboutAsset && state == AssetState.AsPlanned;

    public static bool HasAcceptRanges(scoped in ResponsePlan plan, AssetState state) =>
        HasValidators(plan, state) && plan.Body != PlanBody.None;

    /// <summary>The coding of the body, for Content-Encoding.</summary>
    public static ContentCoding CodingOf(scoped in ResponsePlan plan) =>
        plan.Body == PlanBody.None ? ContentCoding.Identity : plan.Asset?.Coding ?? plan.Document?.Coding ?? ContentCoding.Identity;

    /// <summary>Which Content-Type it has; <paramref name="isGiven"/> if the body has a type of its own.</summary>
    public static ContentTypeSource TypeOf(scoped in ResponsePlan plan, bool isGiven) =>
        plan.Body == PlanBody.None ? ContentTypeSource.None
        : isGiven ? ContentTypeSource.Body
        : plan.Fields.ContentType is not null && plan.Body != PlanBody.StatusText ? ContentTypeSource.Rule
        : plan.Asset is not null ? ContentTypeSource.Asset
        : plan.Document is not null ? ContentTypeSource.Document
        : ContentTypeSource.PlainText;

    /// <summary>
    /// Whether it has one of the plan's own fields. A range request that is answered with the whole file has no Content-Range. The page of
    /// an error may change.
    /// </summary>
    public static bool Has(PlanFieldName field, int planned, AssetState state) =>
        field != PlanFieldName.ContentRange || state == AssetState.AsPlanned || planned >= 400;

    /// <summary>The body of an error, for human readers: "404 Not Found\r\n" from "HTTP/1.1 404 Not Found\r\n".</summary>
    public static ReadOnlySpan<byte> ErrorTextOf(int status) => StatusLine.Of(status)["HTTP/1.1 ".Length..];

    public static MultipartRanges PartsOf(scoped in ResponsePlan plan, long size, byte[] boundary) =>
        new(plan.Ranges, size, plan.Fields.ContentType is { } ruled ? ruled.ValueBytes : plan.Asset!.ContentType.Bytes, boundary);
}

/// <summary>What names the Content-Type of a response.</summary>
internal enum ContentTypeSource
{
    None,
    Body,
    Rule,
    Asset,
    Document,
    PlainText,
}
