using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The decision how a request is answered, which a session or the middleware executes. It is on the stack, and refers to the memory of its
/// <see cref="PlanScratch"/>; data that must outlive both (the asset) is copied out.
/// </summary>
internal readonly ref struct ResponsePlan(int status, PlanBody body, FieldSet fields)
{
    /// <summary>One of the objects below: a plan is about one of them at most, and is copied less if it is small.</summary>
    private object? Subject { get; init; }

    /// <summary>Whether the caller must wait for something and plan again: for one of the three members below.</summary>
    public bool IsWait => status == 0 && body == PlanBody.None;

    /// <summary>What verifies the credentials, which are new: the caller awaits that and plans again with the result.</summary>
    public BasicAuthentication? Verifier => Subject as BasicAuthentication;

    /// <summary>
    /// The rule whose service must be asked: if it lets the request pass, the caller plans again with the rule among
    /// <see cref="PlanRequest.Authorized"/>.
    /// </summary>
    public ForwardAuthRule? ForwardAuth => Subject as ForwardAuthRule;

    /// <summary>A listing that takes too long to make here: the caller awaits it and plans again with it.</summary>
    public ListingPreparation? Preparation => Subject as ListingPreparation;

    public int Status => status;

    public PlanBody Body => body;

    /// <summary>The fields that the site's rules set.</summary>
    public FieldSet Fields => fields;

    /// <summary>The representation of a 200, 206 or 304, or the page of an error.</summary>
    public Asset? Asset { get; private init; }

    /// <summary>The ranges of the asset, if the body consists of ranges.</summary>
    public ReadOnlySpan<ByteRange> Ranges { get; private init; }

    public GeneratedDocument? Document => Subject as GeneratedDocument;

    /// <summary>The directory that is sent as an archive.</summary>
    public DirectoryArchive? Archive => Subject as DirectoryArchive;

    /// <summary>The rule that sends the request to an upstream, whose response is the client's.</summary>
    public ProxyRule? Proxy => Subject as ProxyRule;

    /// <summary>The target for the upstream, in origin form; empty for the request's own.</summary>
    public ReadOnlySpan<byte> ProxyTarget { get; private init; }

    /// <summary>Fields of the request, in lower case, that the upstream does not get from the client.</summary>
    public IReadOnlyList<byte[]> ReplacedNames { get => field ?? []; init; }

    /// <summary>The lines that the upstream gets instead.</summary>
    public byte[]? ReplacingLines { get; init; }

    /// <summary>Whether the page of a client-side router is sent because nothing exists at the path.</summary>
    public bool IsFallback { get; init; }

    /// <summary>Whether the response has the asset's validators: not with an error's page.</summary>
    public bool IsAboutAsset => Asset is not null && Status < 400;

    public static ResponsePlan Await(scoped in AccessOutcome access) =>
        new(0, PlanBody.None, FieldSet.Empty) { Subject = access.Verifier ?? (object?)access.ForwardAuth };

    public static ResponsePlan Await(ListingPreparation preparation) => new(0, PlanBody.None, FieldSet.Empty) { Subject = preparation };

    public static ResponsePlan Whole(int status, Asset asset, FieldSet fields) => new(status, PlanBody.Asset, fields) { Asset = asset };

    public static ResponsePlan NotModified(Asset asset, FieldSet fields) =>
        new(PlanStatus.NotModified, PlanBody.None, fields) { Asset = asset };

    public static ResponsePlan Partial(Asset asset, FieldSet fields, ReadOnlySpan<ByteRange> ranges) =>
        new(PlanStatus.PartialContent, PlanBody.Ranges, fields) { Asset = asset, Ranges = ranges };

    /// <summary>The fields replace those of the same name in the upstream's response.</summary>
    public static ResponsePlan ToUpstream(ProxyRule proxy, ReadOnlySpan<byte> target, FieldSet fields) =>
        new(0, PlanBody.Upstream, fields) { Subject = proxy, ProxyTarget = target };

    public static ResponsePlan Of(GeneratedDocument document, int status, FieldSet fields) =>
        new(status, status == PlanStatus.NotModified ? PlanBody.None : PlanBody.Document, fields) { Subject = document };

    public static ResponsePlan Of(DirectoryArchive archive, FieldSet fields) =>
        new(PlanStatus.Ok, PlanBody.Archive, fields) { Subject = archive };
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

    /// <summary>The document: a directory's listing, or the built-in page of an error.</summary>
    Document,

    /// <summary>An archive of a directory, which is made while it is sent.</summary>
    Archive,

    /// <summary>An upstream's response, whose status and fields are not known yet.</summary>
    Upstream,
}

/// <summary>The status codes that a plan chooses (RFC 9110, section 15); rules of the site may set others.</summary>
internal static class PlanStatus
{
    public const int Ok = 200;
    public const int NoContent = 204;
    public const int PartialContent = 206;
    public const int NotModified = 304;
    public const int PermanentRedirect = 308;
    public const int BadRequest = 400;
    public const int Unauthorized = 401;
    public const int Forbidden = 403;
    public const int NotFound = 404;
    public const int MethodNotAllowed = 405;
    public const int NotAcceptable = 406;
    public const int PreconditionFailed = 412;
    public const int UriTooLong = 414;
    public const int RangeNotSatisfiable = 416;
    public const int TooManyRequests = 429;
    public const int InternalServerError = 500;
    public const int NotImplemented = 501;
    public const int ServiceUnavailable = 503;

    /// <summary>The status for a planned file that cannot be opened now.</summary>
    public static int ForFailedOpen(BodyOpening opening) => opening == BodyOpening.Gone ? NotFound : ServiceUnavailable;
}

/// <summary>Which bytes answer a plan after its asset was opened, for any protocol.</summary>
internal readonly record struct AssetPart(AssetState State, BodyExtent Extent, ByteRange Range)
{
    public static AssetPart Of(scoped in ResponsePlan plan, in BodySource source)
    {
        var whole = new ByteRange(0, source.Size - 1);
        return !source.IsAsCatalogued ? new AssetPart(AssetState.Changed, BodyExtent.Whole, whole)
            : plan.Body == PlanBody.Asset ? new AssetPart(AssetState.AsPlanned, ExtentOf(source.Asset), whole)
            : plan.Ranges.Length == 1 ? new AssetPart(AssetState.AsPlanned, BodyExtent.Range, plan.Ranges[0])
            : new AssetPart(AssetState.AsPlanned, BodyExtent.Ranges, default);
    }

    private static BodyExtent ExtentOf(Asset asset) => asset.Origin == AssetOrigin.Sibling ? BodyExtent.Proven : BodyExtent.Whole;
}

/// <summary>Whether the file of an asset is as planned.</summary>
internal enum AssetState : byte
{
    AsPlanned,

    /// <summary>
    /// The opened file differs from the snapshot's: it is sent whole, without the validators, and the conditions and ranges that were
    /// evaluated for the earlier version do not apply.
    /// </summary>
    Changed,
}

/// <summary>Which bytes of a file a head promises.</summary>
internal enum BodyExtent : byte
{
    /// <summary>All bytes: the head can still be rewritten for the length that is read.</summary>
    Whole,

    /// <summary>All bytes of a sibling: no others may be sent in its coding.</summary>
    Proven,

    /// <summary>The bytes that Content-Range names, perhaps all: no others may be sent.</summary>
    Range,

    /// <summary>Several ranges, each after its own part head.</summary>
    Ranges,
}
