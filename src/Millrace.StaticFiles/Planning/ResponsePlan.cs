using Millrace.Http;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The decision how a request is answered, which a session or the middleware executes. It is on the stack, and refers to the memory of its
/// <see cref="PlanScratch"/>; data that must outlive both (the asset) is copied out.
/// </summary>
internal readonly ref struct ResponsePlan
{
    private ResponsePlan(int status, PlanBody body, FieldSet fields)
    {
        Status = status;
        Body = body;
        Fields = fields;
    }

    /// <summary>The credentials are new: the caller verifies them off the reactor and plans again. No other member is valid then.</summary>
    public bool NeedsVerification { get; private init; }

    /// <summary>
    /// A preparation that takes too long to do here: the caller awaits it and plans again. No other member is valid then.
    /// </summary>
    public Task? Preparation { get; private init; }

    public int Status { get; }

    public PlanBody Body { get; }

    /// <summary>The fields that the site's rules set.</summary>
    public FieldSet Fields { get; }

    /// <summary>The representation of a 200, 206 or 304, or the page of an error.</summary>
    public Asset? Asset { get; private init; }

    /// <summary>The ranges of the asset, if the body consists of ranges.</summary>
    public ReadOnlySpan<ByteRange> Ranges { get; private init; }

    public GeneratedDocument? Document { get; private init; }

    /// <summary>Whether the page of a client-side router is sent because nothing exists at the path.</summary>
    public bool IsFallback { get; init; }

    /// <summary>Whether the response has the asset's validators: not with an error's page.</summary>
    public bool IsAboutAsset => Asset is not null && Status < 400;

    public static ResponsePlan AwaitVerification() => new(0, PlanBody.None, FieldSet.Empty) { NeedsVerification = true };

    public static ResponsePlan Await(Task preparation) => new(0, PlanBody.None, FieldSet.Empty) { Preparation = preparation };

    public static ResponsePlan Bare(int status, PlanBody body, FieldSet fields) => new(status, body, fields);

    public static ResponsePlan Whole(int status, Asset asset, FieldSet fields) => new(status, PlanBody.Asset, fields) { Asset = asset };

    public static ResponsePlan NotModified(Asset asset, FieldSet fields) =>
        new(PlanStatus.NotModified, PlanBody.None, fields) { Asset = asset };

    public static ResponsePlan Partial(Asset asset, FieldSet fields, ReadOnlySpan<ByteRange> ranges) =>
        new(PlanStatus.PartialContent, PlanBody.Ranges, fields) { Asset = asset, Ranges = ranges };

    public static ResponsePlan Of(GeneratedDocument document, int status, FieldSet fields) =>
        new(status, status == PlanStatus.NotModified ? PlanBody.None : PlanBody.Document, fields) { Document = document };
}

/// <summary>
/// The content of a response. It is the same for HEAD, for which the caller leaves out the bytes (RFC 9110, section 9.3.2).
/// </summary>
internal enum PlanBody
{
    /// <summary>No body: 204 and 304.</summary>
    None,

    /// <summary>A line of text that names the status.</summary>
    StatusText,

    /// <summary>The whole asset; with an error status, that error's page.</summary>
    Asset,

    /// <summary>Ranges of the asset: one as it is, several as multipart/byteranges.</summary>
    Ranges,

    /// <summary>The document: a directory's listing.</summary>
    Document,
}
