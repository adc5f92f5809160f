using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// How a request is to be answered: a decision for a front to execute. Lives on the stack, in the memory of its
/// <see cref="PlanScratch"/>; what outlasts that (the asset) is taken out of it.
/// </summary>
internal readonly ref struct Plan
{
    private Plan(int status, PlanBody body, FieldSet fields)
    {
        Status = status;
        Body = body;
        Fields = fields;
    }

    /// <summary>
    /// The credentials are new: the front has them hashed off the reactor and plans again. Nothing else of the plan has a meaning then.
    /// </summary>
    public bool NeedsVerification { get; private init; }

    /// <summary>
    /// What takes too long to be done here: the front waits for it and plans again, this time with all there is. Nothing else of the plan
    /// has a meaning then.
    /// </summary>
    public Task? Preparation { get; private init; }

    public int Status { get; }

    public PlanBody Body { get; }

    /// <summary>The fields that the site's rules ask for.</summary>
    public FieldSet Fields { get; }

    /// <summary>The representation that a 200, 206 or 304 is about, or the page of an error.</summary>
    public Asset? Asset { get; private init; }

    /// <summary>One or several ranges of the asset, where the body is that.</summary>
    public ReadOnlySpan<ByteRange> Ranges { get; private init; }

    public PlanDocument? Document { get; private init; }

    /// <summary>Whether a client-side router's page answers, for want of anything at the path itself.</summary>
    public bool IsFallback { get; init; }

    /// <summary>Whether the asset's validators are part of the answer: not with an error's page, which validates nothing.</summary>
    public bool IsAboutAsset => Asset is not null && Status < 400;

    public static Plan AwaitVerification() => new(0, PlanBody.None, FieldSet.Empty) { NeedsVerification = true };

    public static Plan Await(Task preparation) => new(0, PlanBody.None, FieldSet.Empty) { Preparation = preparation };

    public static Plan Bare(int status, PlanBody body, FieldSet fields) => new(status, body, fields);

    public static Plan Whole(int status, Asset asset, FieldSet fields) => new(status, PlanBody.Asset, fields) { Asset = asset };

    public static Plan NotModified(Asset asset, FieldSet fields) =>
        new(PlanStatus.NotModified, PlanBody.None, fields) { Asset = asset };

    public static Plan Partial(Asset asset, FieldSet fields, ReadOnlySpan<ByteRange> ranges) =>
        new(PlanStatus.PartialContent, PlanBody.Ranges, fields) { Asset = asset, Ranges = ranges };

    public static Plan Of(PlanDocument document, int status, FieldSet fields) =>
        new(status, status == PlanStatus.NotModified ? PlanBody.None : PlanBody.Document, fields) { Document = document };
}
