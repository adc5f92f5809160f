using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Decides how a request is answered. The same request and snapshot give the same plan; nothing is read from disk or sent.
/// </summary>
internal sealed class ResponsePlanner(SitePolicy policy)
{
    private static ReadOnlySpan<byte> AllowedMethods => "GET, HEAD, OPTIONS"u8;

    public ResponsePlan Decide(scoped in PlanRequest request, CatalogSnapshot snapshot, PlanScratch scratch)
    {
        scratch.Reset();
        DecodedPath path = DecodedPath.Decode(request.Path, policy.Options.MergeSlashes, scratch);
        var resolver = new RouteResolver(policy, snapshot, scratch, path);
        if (policy.Maintenance?.Current is { } maintenance && !request.IsInternal)
        {
            return resolver.Maintain(request, maintenance);
        }

        if (path.IsMalformed)
        {
            return resolver.Error(request, PlanStatus.BadRequest);
        }

        AccessOutcome access = policy.Access.Decide(request, path.ForAccess, scratch);
        if (access.Decision == AccessDecision.Forbidden)
        {
            return resolver.Refuse(request, access);
        }

        if (request.Method is not (Method.Get or Method.Head))
        {
            return DecideOther(request, snapshot, scratch, resolver, access);
        }

        AddOrigin(request, snapshot.Rules.Cors, scratch);
        return access.Decision != AccessDecision.Granted ? resolver.Refuse(request, access)
            : request.ErrorStatus != 0 && path.NamesFile ? resolver.PageOfError(request)
            : policy.Pages is { } pages && PageDictionaries.IsNamed(path.OfFile)
                ? PlanDictionary(request, snapshot, scratch, pages, path, resolver)
            : resolver.Resolve(request);
    }

    /// <summary>
    /// Plans a request for the dictionary of the pages: over HTTPS only, and never with something else of the site. Otherwise as for a file
    /// with a content hash in its name and no rule about its caching.
    /// </summary>
    private static ResponsePlan PlanDictionary(
        scoped in PlanRequest request,
        CatalogSnapshot snapshot,
        PlanScratch scratch,
        PageDictionaries pages,
        DecodedPath path,
        RouteResolver resolver)
    {
        if (!request.Dictionary.IsHttps || !pages.TryFind(path.OfFile, out PageDictionary? dictionary))
        {
            return resolver.Error(request, PlanStatus.NotFound);
        }

        scratch.Vary(VaryNames.AcceptEncoding);
        if (!AcceptEncoding.TryChoose(request.AcceptEncoding, GeneratedDocument.Codings, out ContentCoding coding))
        {
            return resolver.Error(request, PlanStatus.NotAcceptable);
        }

        GeneratedDocument document = dictionary.DocumentFor(coding);
        var current = new Validators { EntityTag = document.EntityTag, LastModified = Validators.NoDate, IsDateStrong = false };
        PreconditionOutcome outcome = Preconditions.Evaluate(request.Conditions, current);
        if (outcome == PreconditionOutcome.Failed)
        {
            return resolver.Error(request, PlanStatus.PreconditionFailed);
        }

        FieldSet fields = snapshot.Rules.FieldsForPageDictionary(path.OfFile);
        if (outcome != PreconditionOutcome.NotModified)
        {
            DictionarySelection.Advertise(request, PageDictionary.UseAs, fields, scratch);
        }

        return ResponsePlan.Of(document, outcome == PreconditionOutcome.NotModified ? PlanStatus.NotModified : PlanStatus.Ok, fields);
    }

    /// <summary>Plans a request of another method than GET and HEAD, which only applications take.</summary>
    private static ResponsePlan DecideOther(
        scoped in PlanRequest request,
        CatalogSnapshot snapshot,
        PlanScratch scratch,
        RouteResolver resolver,
        scoped in AccessOutcome access)
    {
        if (MayPass(request) && resolver.TryUpstream(request, out ResponsePlan upstream))
        {
            return access.Decision != AccessDecision.Granted ? resolver.Refuse(request, access) : upstream;
        }

        scratch.Reset();
        CorsPolicy? cors = snapshot.Rules.Cors;
        AddOrigin(request, cors, scratch);

        // Before the lookup: no resource of a static site supports other methods, whether it exists or not.
        if (request.Method == Method.Unknown)
        {
            return resolver.Error(request, PlanStatus.NotImplemented);
        }

        scratch.Add(PlanFieldName.Allow, AllowedMethods);
        return request.Method != Method.Options ? resolver.Error(request, PlanStatus.MethodNotAllowed)
            : new ResponsePlan(PlanStatus.NoContent, PlanBody.None, IsPreflight(request) && cors is not null
                ? cors.Preflight
                : resolver.FieldsForError);
    }

    /// <summary>
    /// Plans the page of an error that was not decided by a plan: of an application that does not answer, of a client that asks too much.
    /// </summary>
    public ResponsePlan Fail(scoped in PlanRequest request, int status, CatalogSnapshot snapshot, PlanScratch scratch)
    {
        scratch.Reset();
        AddOrigin(request, snapshot.Rules.Cors, scratch);
        DecodedPath path = DecodedPath.Decode(request.Path, policy.Options.MergeSlashes, scratch);
        if (status == PlanStatus.ServiceUnavailable)
        {
            scratch.Add(PlanFieldName.RetryAfter, "1"u8);
        }

        return new RouteResolver(policy, snapshot, scratch, path).Error(request, status);
    }

    /// <summary>Lets the scripts of an origin read the response, if they may.</summary>
    private static void AddOrigin(scoped in PlanRequest request, CorsPolicy? cors, PlanScratch scratch)
    {
        if (cors is { DependsOnOrigin: true } && cors.TryAllow(request.Origin, out ReadOnlySpan<byte> origin))
        {
            scratch.Add(PlanFieldName.AccessControlAllowOrigin, origin);
        }
    }

    /// <summary>
    /// Whether a request other than GET and HEAD may be sent to an application: not TRACE, which would show it what the server added, nor
    /// CONNECT of HTTP/1.1 and "OPTIONS *", which have no path.
    /// </summary>
    private static bool MayPass(scoped in PlanRequest request) => request.Method != Method.Trace && !request.Path.IsEmpty;

    /// <summary>
    /// Whether a browser asks for permission of a script's request (CORS preflight, Fetch standard, section 3.3.2). It has no credentials.
    /// </summary>
    private static bool IsPreflight(scoped in PlanRequest request) =>
        !request.Origin.IsEmpty && !request.AccessControlRequestMethod.IsEmpty;
}

/// <summary>The options that guide planning, with their paths as bytes.</summary>
internal sealed class SitePolicy
{
    private readonly byte[]?[] _errorPages = new byte[600][];

    public SitePolicy(SiteOptions options)
    {
        Options = options;
        Fallback = options.Fallback is string fallback ? Encoding.UTF8.GetBytes(fallback) : null;
        foreach ((int status, string path) in options.ErrorPages)
        {
            _errorPages[status] = Encoding.UTF8.GetBytes(path);
        }
    }

    public SiteOptions Options { get; }

    public byte[]? Fallback { get; }

    /// <summary>Compresses what is asked for and not compressed yet; null for nothing.</summary>
    public OnDemandCompressor? OnDemand { get; init; }

    /// <summary>The downloads of directories; null if there are none.</summary>
    public SiteArchives? Archives { get; init; }

    /// <summary>The dictionary of the pages; null if there is none.</summary>
    public PageDictionaries? Pages { get; init; }

    /// <summary>Whether the site is in maintenance; null if it never is. It remains the site's.</summary>
    public MaintenanceSwitch? Maintenance { get; init; }

    /// <summary>Who may see what; it remains the site's.</summary>
    public SiteAccess Access { get; init; } = SiteAccess.Everybody;

    /// <summary>The path of the page for an error; empty for none.</summary>
    public ReadOnlySpan<byte> ErrorPage(int status) => _errorPages[status];
}
