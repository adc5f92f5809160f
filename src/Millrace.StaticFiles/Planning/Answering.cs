using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Plans a GET or HEAD of one path: first what a rule forces, then the site's own files, then the rules for what is not there, then the
/// fallback, then 404.
/// </summary>
internal readonly ref struct Answering(SitePolicy policy, CatalogSnapshot snapshot, PlanScratch scratch, ReadOnlySpan<byte> path)
{
    private readonly ReadOnlySpan<byte> _path = path;

    public Plan Answer(scoped in PlanRequest request)
    {
        if (TryRule(request, RulePhase.BeforeFiles, out Plan plan)
            || TryFile(request, out plan)
            || TryRule(request, RulePhase.AfterFiles, out plan)
            || TryFallback(request, out plan))
        {
            return plan;
        }

        return Error(request, PlanStatus.NotFound);
    }

    /// <summary>The page of an error, or a line of text. Conditions and ranges are about what was asked for, not about it.</summary>
    public Plan Error(scoped in PlanRequest request, int status) => Error(request, status, policy.ErrorPage(status));

    /// <summary>
    /// The file at the path as the page of an error that was decided on elsewhere. Rules and the fallback are for those who asked for the
    /// path; here an application did, and shorter addresses are of no use to it.
    /// </summary>
    public Plan PageOfError(scoped in PlanRequest request) => Error(request, request.ErrorStatus, AssetFor(_path, out _));

    private Plan Error(scoped in PlanRequest request, int status, scoped ReadOnlySpan<byte> page)
    {
        Asset? asset = null;
        if (!page.IsEmpty)
        {
            _ = Find(page, out asset, out _);
        }

        return Error(request, status, asset);
    }

    private Plan Error(scoped in PlanRequest request, int status, Asset? page)
    {
        FieldSet fields = snapshot.Rules.FieldsForError(_path);
        return page is null
            ? Plan.Bare(status, PlanBody.StatusText, fields)
            : Plan.Whole(status, Selection.ForError(page, request), fields);
    }

    /// <summary>Looks among the files of the site, under the names that options add.</summary>
    private bool TryFile(scoped in PlanRequest request, out Plan plan)
    {
        ReadOnlySpan<byte> path = _path;
        switch (Find(path, out Asset? asset, out SiteDirectory? directory))
        {
            case PathMatch.Asset when policy.CleanUrls && TryShorten(path, asset!, directory!, out ReadOnlySpan<byte> name):
                plan = name.IsEmpty ? Redirect(request, "./"u8, default, default) : Redirect(request, default, name, default);
                return true;
            case PathMatch.Asset:
                plan = Represent(request, asset!);
                return true;
            case PathMatch.DirectoryWithoutSlash when directory!.Index is not null || policy.Listing:
                plan = Redirect(request, default, CleanUrl.LastSegment(path), "/"u8);
                return true;
            case PathMatch.DirectoryWithoutIndex when policy.Listing:
                plan = List(request, directory!);
                return true;
            default:
                plan = default;
                return policy.CleanUrls && TryCleanUrl(request, out plan);
        }
    }

    /// <summary>
    /// What a rule leads to, under the address that was asked for. So it is never redirected: a nicer address than the target's is still
    /// not what the client asked for, and relative to that it would lead elsewhere, perhaps to the same rule again. For the same reason a
    /// directory is listed only where that address ends with a slash: the references of its page would else be to the directory above.
    /// </summary>
    private bool TryTarget(scoped in PlanRequest request, scoped ReadOnlySpan<byte> target, out Plan plan)
    {
        plan = default;
        if (AssetFor(target, out SiteDirectory? directory) is Asset asset)
        {
            plan = Represent(request, asset);
            return true;
        }

        if (policy.Listing && directory is not null && _path[^1] == '/')
        {
            plan = List(request, directory);
            return true;
        }

        return false;
    }

    /// <summary>What answers for a path that nobody is redirected from.</summary>
    private Asset? AssetFor(scoped ReadOnlySpan<byte> path, out SiteDirectory? directory)
    {
        _ = Find(path, out Asset? asset, out directory);
        if (asset is null && directory is not null)
        {
            // Its index depends on more than the name of the directory.
            scratch.PathsAsked?.Add([.. path, (byte)'/']);
        }

        return asset ?? directory?.Index ?? (policy.CleanUrls ? PageFor(path) : null);
    }

    /// <summary>Not where the shorter path is another's: then it would lead to that one.</summary>
    private bool TryShorten(ReadOnlySpan<byte> path, Asset asset, SiteDirectory directory, out ReadOnlySpan<byte> name) =>
        CleanUrl.TryShorten(path, asset, out name)
        && (name.IsEmpty
            ? directory.Index == asset
            : Find(path[..^CleanUrl.Extension.Length], out _, out _) == PathMatch.None);

    private bool TryCleanUrl(scoped in PlanRequest request, out Plan plan)
    {
        plan = default;
        bool endsWithSlash = _path[^1] == '/';
        ReadOnlySpan<byte> path = endsWithSlash ? _path[..^1] : _path;
        if (PageFor(path) is not Asset page)
        {
            return false;
        }

        plan = endsWithSlash ? Redirect(request, "../"u8, CleanUrl.LastSegment(path), default) : Represent(request, page);
        return true;
    }

    /// <summary>The page whose clean path this is.</summary>
    private Asset? PageFor(scoped ReadOnlySpan<byte> path)
    {
        ReadOnlySpan<byte> file = CleanUrl.FileFor(path, scratch);
        return !file.IsEmpty && Find(file, out Asset? page, out _) == PathMatch.Asset ? page : null;
    }

    private bool TryRule(scoped in PlanRequest request, RulePhase phase, out Plan plan)
    {
        plan = default;
        SiteRules rules = snapshot.Rules;
        if (!rules.HasRoutes(phase))
        {
            return false;
        }

        switch (rules.Match(_path, request.Query, phase, scratch.RuleRoom, out RuleTarget target))
        {
            case RuleMatch.Redirect:
                scratch.Add(PlanFieldName.Location, target.Location);
                plan = Plan.Bare(target.Status, PlanBody.StatusText, rules.FieldsForRedirect(_path));
                return true;
            case RuleMatch.Rewrite when target.Status == PlanStatus.Ok:
                // Once: rules are not asked about where a rule leads, so they cannot go in circles.
                return TryTarget(request, target.Path, out plan);
            case RuleMatch.Rewrite:
                plan = Error(request, target.Status, target.Path.IsEmpty ? policy.ErrorPage(target.Status) : target.Path);
                return true;
            case RuleMatch.TooLong:
                plan = Error(request, PlanStatus.UriTooLong);
                return true;
            default:
                return false;
        }
    }

    /// <summary>
    /// The page of a client-side router, for what looks like one of its pages: not for a script or an image that is missing, which must
    /// be 404 (a page in its place is an obscure error in the browser, and would be cached under the name).
    /// </summary>
    private bool TryFallback(scoped in PlanRequest request, out Plan plan)
    {
        plan = default;
        if (policy.Fallback is not byte[] fallback)
        {
            return false;
        }

        bool looksLikeFile = CleanUrl.LastSegment(_path).Contains((byte)'.');
        if (looksLikeFile)
        {
            scratch.Add(PlanFieldName.Vary, "Accept"u8);
        }

        if ((looksLikeFile && !Accept.NamesHtml(request.Accept))
            || Find(fallback, out Asset? asset, out _) != PathMatch.Asset)
        {
            return false;
        }

        plan = Represent(request, asset!) with { IsFallback = true };
        return true;
    }

    private Plan List(scoped in PlanRequest request, SiteDirectory directory)
    {
        if (!request.Base.IsEmpty)
        {
            return RedirectToRoot(request);
        }

        scratch.Add(PlanFieldName.Vary, "Accept"u8);
        bool asJson = Accept.PrefersJson(request.Accept);
        if (!DirectoryDocument.TryGet(
            snapshot, directory, _path, request.Query, asJson, request.MayWait, out PlanDocument? document, out Task? making))
        {
            return Plan.Await(making);
        }

        FieldSet fields = snapshot.Rules.FieldsFor(_path, default);
        if (fields.Find("Content-Security-Policy") is null)
        {
            scratch.Add(PlanFieldName.ContentSecurityPolicy, ListingStyle.ContentSecurityPolicyBytes);
        }

        var current = new Validators { EntityTag = document.EntityTag, LastModified = Validators.NoDate, IsDateStrong = false };
        return Preconditions.Evaluate(request.Conditions, current) switch
        {
            PreconditionOutcome.NotModified => Plan.Of(document, PlanStatus.NotModified, fields),
            PreconditionOutcome.Failed => Error(request, PlanStatus.PreconditionFailed),
            _ => Plan.Of(document, PlanStatus.Ok, fields),
        };
    }

    private Plan Represent(scoped in PlanRequest request, Asset asset)
    {
        if (!request.Base.IsEmpty)
        {
            return RedirectToRoot(request);
        }

        FieldSet fields = snapshot.Rules.FieldsFor(_path, asset.Path);
        int status = Selection.Select(request, ref asset, scratch, out int rangeCount);
        if (status == PlanStatus.NotAcceptable)
        {
            scratch.Add(PlanFieldName.Vary, "Accept-Encoding"u8);
        }

        return status switch
        {
            PlanStatus.Ok => Plan.Whole(status, asset, fields),
            PlanStatus.NotModified => Plan.NotModified(asset, fields),
            PlanStatus.PartialContent => Plan.Partial(asset, fields, scratch.Ranges[..rangeCount]),
            _ => Error(request, status),
        };
    }

    private PathMatch Find(scoped ReadOnlySpan<byte> decodedPath, out Asset? asset, out SiteDirectory? directory)
    {
        scratch.PathsAsked?.Add(decodedPath.ToArray());
        return snapshot.TryFind(decodedPath, out asset, out directory);
    }

    private Plan RedirectToRoot(scoped in PlanRequest request) => Redirect(request, default, request.Base, "/"u8);

    private Plan Redirect(
        scoped in PlanRequest request, ReadOnlySpan<byte> prefix, scoped ReadOnlySpan<byte> segment, ReadOnlySpan<byte> suffix)
    {
        RedirectLocation.Add(scratch, prefix, segment, suffix, request.Query);
        // With the errors' Cache-Control: a browser keeps a permanent redirect for good, and a directory may become a file.
        return Plan.Bare(PlanStatus.PermanentRedirect, PlanBody.StatusText, snapshot.Rules.FieldsForError(_path));
    }
}
