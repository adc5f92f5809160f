using Millrace.Http;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Pages;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Plans a request of one path, in this order: applications, forced rules, the site's files, the other rules, applications as a fallback,
/// the fallback page, 404.
/// </summary>
internal readonly ref struct RouteResolver(SitePolicy policy, CatalogSnapshot snapshot, PlanScratch scratch, DecodedPath path)
{
    private readonly ReadOnlySpan<byte> _path = path.OfFile;
    private readonly DecodedPath _decoded = path;

    /// <summary>Plans a GET or HEAD.</summary>
    public ResponsePlan Resolve(scoped in PlanRequest request)
    {
        if (!_decoded.NamesFile)
        {
            return TryUpstream(request, out ResponsePlan upstream) ? upstream : Error(request, PlanStatus.NotFound);
        }

        SiteRules rules = snapshot.Rules;
        ResponsePlan plan;
        if (TryProxy(request, rules.Proxies, out plan)
            || TryRule(request, rules.ForcedRoutes, out plan)
            || TryFile(request, out plan)
            || TryRule(request, rules.OtherRoutes, out plan)
            || TryProxy(request, rules.FallbackProxies, out plan)
            || TryFallback(request, out plan))
        {
            return plan;
        }

        return Error(request, PlanStatus.NotFound);
    }

    public FieldSet FieldsForError => snapshot.Rules.FieldsForError(_path);

    /// <summary>
    /// Plans a request of any method if an application answers its path: not where a GET would be answered with a file or by a rule of the
    /// site. If none does, fields may have been added that do not apply.
    /// </summary>
    public bool TryUpstream(scoped in PlanRequest request, out ResponsePlan plan)
    {
        plan = default;
        if (!snapshot.Rules.HasProxies || request.Path.IsEmpty)
        {
            return false;
        }

        if (TryProxy(request, snapshot.Rules.Proxies, out plan))
        {
            return true;
        }

        bool isOfSite = _decoded.NamesFile
            && (TryRule(request, snapshot.Rules.ForcedRoutes, out plan)
                || TryFile(request, out plan)
                || TryRule(request, snapshot.Rules.OtherRoutes, out plan));
        return isOfSite ? plan.Body == PlanBody.Upstream : TryProxy(request, snapshot.Rules.FallbackProxies, out plan);
    }

    /// <summary>
    /// Plans an error's page: the site's, or the built-in one, as a line of text for clients that do not prefer HTML. Conditions and ranges
    /// refer to the requested resource and do not apply to it.
    /// </summary>
    public ResponsePlan Error(scoped in PlanRequest request, int status) => Error(request, status, policy.ErrorPage(status));

    /// <summary>
    /// Plans the file at the path as the page of an error that was decided elsewhere. Rules, the fallback and redirects to clean URLs do
    /// not apply: an application asks for the page, not a client.
    /// </summary>
    public ResponsePlan PageOfError(scoped in PlanRequest request) => Error(request, request.ErrorStatus, AssetFor(_path, out _));

    /// <summary>Plans the response to a request that rules about access do not grant.</summary>
    public ResponsePlan Refuse(scoped in PlanRequest request, scoped in AccessOutcome access)
    {
        switch (access.Decision)
        {
            case AccessDecision.Unverified:
                return ResponsePlan.Await(access);
            case AccessDecision.Forbidden:
                return Error(request, PlanStatus.Forbidden);
            case AccessDecision.Overloaded:
                scratch.Add(PlanFieldName.RetryAfter, "1"u8);
                return Error(request, PlanStatus.ServiceUnavailable);
            default:
                scratch.Add(PlanFieldName.WwwAuthenticate, access.Verifier!.Challenge);
                return Error(request, PlanStatus.Unauthorized);
        }
    }

    /// <summary>Plans the response to any request while the site is in maintenance.</summary>
    public ResponsePlan Maintain(scoped in PlanRequest request, Maintenance maintenance)
    {
        scratch.Add(PlanFieldName.RetryAfter, Maintenance.RetryAfterSeconds);
        return maintenance.Page is { } page
            ? ResponsePlan.Of(page, PlanStatus.ServiceUnavailable, snapshot.Rules.FieldsForError(_path))
            : Error(request, PlanStatus.ServiceUnavailable);
    }

    /// <summary>
    /// Decides on a path of the site that the requested one leads to: an index, a clean URL's file, a rewrite's target, the fallback.
    /// The requested path was decided on before.
    /// </summary>
    private AccessOutcome AccessTo(scoped in PlanRequest request, scoped ReadOnlySpan<byte> path) =>
        path.SequenceEqual(_path) ? AccessOutcome.Granted : policy.Access.Decide(request, path, scratch);

    private ResponsePlan Error(scoped in PlanRequest request, int status, scoped ReadOnlySpan<byte> page)
    {
        Asset? asset = null;
        if (!page.IsEmpty)
        {
            _ = Find(page, out asset, out _);
        }

        return Error(request, status, asset);
    }

    private ResponsePlan Error(scoped in PlanRequest request, int status, Asset? page)
    {
        FieldSet fields = snapshot.Rules.FieldsForError(_path);
        if (page is { IsUnreadable: false })
        {
            Asset chosen = RepresentationSelector.ForError(page, request);
            policy.OnDemand?.EnqueueIfWanted(page, chosen, request.AcceptEncoding);
            return ResponsePlan.Whole(status, chosen, fields);
        }

        // The page of an application's error, or its own text, is the application's to send.
        return request.ErrorStatus != 0 ? new ResponsePlan(status, PlanBody.StatusText, fields) : BuiltInError(request, status, fields);
    }

    private ResponsePlan BuiltInError(scoped in PlanRequest request, int status, FieldSet fields)
    {
        scratch.Vary(VaryNames.Accept);
        if (ErrorPage.For(status, request.Accept, AcceptEncodingOf(request)) is not GeneratedDocument page)
        {
            return new ResponsePlan(status, PlanBody.StatusText, fields);
        }

        VaryByCoding();
        AddPolicy(fields, ErrorPage.ContentSecurityPolicy);
        return ResponsePlan.Of(page, status, fields);
    }

    /// <summary>The codings that a generated document may have: none on a site without compression.</summary>
    private ReadOnlySpan<byte> AcceptEncodingOf(scoped in PlanRequest request) =>
        policy.Options.Compression ? request.AcceptEncoding : default;

    private void VaryByCoding()
    {
        if (policy.Options.Compression)
        {
            scratch.Vary(VaryNames.AcceptEncoding);
        }
    }

    /// <summary>
    /// A policy that the site sets takes precedence: the page may then be without its style. That of the preset applies beside the page's.
    /// </summary>
    private void AddPolicy(FieldSet fields, ReadOnlySpan<byte> contentSecurityPolicy)
    {
        if (fields.ContentSecurityPolicy is null || SecurityPreset.Has(fields.ContentSecurityPolicy))
        {
            scratch.Add(PlanFieldName.ContentSecurityPolicy, contentSecurityPolicy);
        }
    }

    /// <summary>Plans a file of the site, under any of the names that options add.</summary>
    private bool TryFile(scoped in PlanRequest request, out ResponsePlan plan)
    {
        switch (Find(_path, out Asset? asset, out SiteDirectory? directory))
        {
            case PathMatch.Asset when policy.Options.CleanUrls && TryShorten(_path, asset!, directory!, out ReadOnlySpan<byte> name):
                plan = name.IsEmpty ? Redirect(request, "./"u8, default, default) : Redirect(request, default, name, default);
                return true;
            case PathMatch.Asset:
                plan = Represent(request, asset!);
                return true;
            case PathMatch.DirectoryWithoutSlash when directory!.Index is not null || policy.Options.Listing:
                plan = Redirect(request, default, SitePath.LastSegment(_path), "/"u8);
                return true;
            case PathMatch.DirectoryWithoutIndex when policy.Options.Listing:
                plan = List(request, directory!);
                return true;
            default:
                plan = default;
                return policy.Options.CleanUrls && TryCleanUrl(request, out plan);
        }
    }

    /// <summary>
    /// Plans the target of a rewrite rule under the requested URL. It is never redirected: a cleaner URL of the target is not what the
    /// client asked for, and a relative Location could lead to the same rule again. A directory is listed only if the requested URL ends
    /// with a slash: otherwise the references of its page would resolve to the directory above.
    /// </summary>
    private bool TryTarget(scoped in PlanRequest request, scoped ReadOnlySpan<byte> target, out ResponsePlan plan)
    {
        plan = default;
        if (AssetFor(target, out SiteDirectory? directory) is Asset asset)
        {
            plan = Represent(request, asset);
            return true;
        }

        if (policy.Options.Listing && directory is not null && _path[^1] == '/')
        {
            plan = List(request, directory);
            return true;
        }

        return false;
    }

    /// <summary>The asset for a path, without redirects.</summary>
    private Asset? AssetFor(scoped ReadOnlySpan<byte> path, out SiteDirectory? directory)
    {
        _ = Find(path, out Asset? asset, out directory);
        if (asset is null && directory is not null)
        {
            // The index depends on more than the directory's name.
            scratch.LookedUpPaths?.Add([.. path, (byte)'/']);
        }

        return asset ?? directory?.Index ?? (policy.Options.CleanUrls ? PageFor(path) : null);
    }

    /// <summary>Whether the clean path may be used: not if another file or directory has it.</summary>
    private bool TryShorten(ReadOnlySpan<byte> path, Asset asset, SiteDirectory directory, out ReadOnlySpan<byte> name) =>
        CleanUrl.TryShorten(path, asset, out name)
        && (name.IsEmpty
            ? directory.Index == asset
            : Find(path[..^CleanUrl.Extension.Length], out _, out _) == PathMatch.None);

    private bool TryCleanUrl(scoped in PlanRequest request, out ResponsePlan plan)
    {
        plan = default;
        bool endsWithSlash = _path[^1] == '/';
        ReadOnlySpan<byte> bare = endsWithSlash ? _path[..^1] : _path;
        if (PageFor(bare) is not Asset page)
        {
            return false;
        }

        plan = endsWithSlash ? Redirect(request, "../"u8, SitePath.LastSegment(bare), default) : Represent(request, page);
        return true;
    }

    private Asset? PageFor(scoped ReadOnlySpan<byte> path)
    {
        ReadOnlySpan<byte> file = CleanUrl.FileFor(path, scratch);
        return !file.IsEmpty && Find(file, out Asset? page, out _) == PathMatch.Asset ? page : null;
    }

    private bool TryProxy(scoped in PlanRequest request, RouteTable routes, out ResponsePlan plan)
    {
        plan = default;
        if (routes.IsEmpty || _decoded.ForRules.IsEmpty)
        {
            return false;
        }

        RuleMatch match = routes.Match(_decoded.ForRules, request.Query, scratch.RuleRoom, out RuleTarget target);
        if (match == RuleMatch.TooLong)
        {
            plan = Error(request, PlanStatus.UriTooLong);
            return true;
        }

        return match == RuleMatch.Proxy && TryForward(request, target, out plan);
    }

    private bool TryForward(scoped in PlanRequest request, RuleTarget rule, out ResponsePlan plan)
    {
        // What an earlier step has added is not about the application's response.
        scratch.Reset();
        ReadOnlySpan<byte> target = rule.Location;
        if (target.IsEmpty
            && TargetPath.HasDotSegment(request.Path)
            && !UrlText.TryWriteTarget(_decoded.ForRules, request.Query, scratch.RuleRoom, out target))
        {
            // An application that does not resolve dot segments, or in another way, would answer another path than the one that the rules
            // saw: it gets the path without them.
            plan = Error(request, PlanStatus.UriTooLong);
            return true;
        }

        plan = ResponsePlan.ToUpstream(rule.Proxy!, target, snapshot.Rules.FieldsForUpstream(_decoded.ForRules));
        return true;
    }

    private bool TryRule(scoped in PlanRequest request, RouteTable routes, out ResponsePlan plan)
    {
        plan = default;
        if (routes.IsEmpty)
        {
            return false;
        }

        switch (routes.Match(_path, request.Query, scratch.RuleRoom, out RuleTarget target))
        {
            case RuleMatch.Proxy:
                return TryForward(request, target, out plan);
            case RuleMatch.Redirect:
                scratch.Add(PlanFieldName.Location, target.Location);
                plan = new ResponsePlan(target.Status, PlanBody.StatusText, snapshot.Rules.FieldsForRedirect(_path));
                return true;
            case RuleMatch.Rewrite when target.Status == PlanStatus.Ok:
                // Once: rules are not applied to the target of a rule, so they cannot loop.
                return TryTarget(request, target.Path, out plan);
            case RuleMatch.Rewrite:
                plan = RewrittenError(request, target);
                return true;
            case RuleMatch.TooLong:
                plan = Error(request, PlanStatus.UriTooLong);
                return true;
            default:
                return false;
        }
    }

    /// <summary>Plans an error with the page that a rule names, if the client may see that page.</summary>
    private ResponsePlan RewrittenError(scoped in PlanRequest request, scoped RuleTarget target)
    {
        if (target.Path.IsEmpty)
        {
            return Error(request, target.Status);
        }

        _ = Find(target.Path, out Asset? page, out _);
        return page is null || AccessTo(request, page.Path).Decision == AccessDecision.Granted
            ? Error(request, target.Status, page)
            : Error(request, target.Status);
    }

    /// <summary>
    /// Plans the page of a client-side router, for paths that look like pages. A missing script or image must be 404: a page in its place
    /// causes an obscure error in the browser, and would be cached under that name.
    /// </summary>
    private bool TryFallback(scoped in PlanRequest request, out ResponsePlan plan)
    {
        plan = default;
        if (policy.Fallback is not byte[] fallback)
        {
            return false;
        }

        bool looksLikeFile = SitePath.LastSegment(_path).Contains((byte)'.');
        if (looksLikeFile)
        {
            scratch.Vary(VaryNames.Accept);
        }

        if ((looksLikeFile && !Accept.NamesHtml(request.Accept))
            || Find(fallback, out Asset? asset, out _) != PathMatch.Asset)
        {
            return false;
        }

        plan = Represent(request, asset!) with { IsFallback = true };
        return true;
    }

    private ResponsePlan List(scoped in PlanRequest request, SiteDirectory directory)
    {
        if (!request.Base.IsEmpty)
        {
            return RedirectToRoot(request);
        }

        if (AccessTo(request, directory.Path) is { Decision: not AccessDecision.Granted } refusal)
        {
            return Refuse(request, refusal);
        }

        ArchiveFormats archives = policy.Archives?.FormatsFor(_path, directory, scratch) ?? ArchiveFormats.None;
        if (archives != ArchiveFormats.None && ArchiveFormatNames.TryFind(request.Query, out ArchiveFormats format))
        {
            return Archive(request, directory, format, policy.Archives!);
        }

        scratch.Vary(VaryNames.Accept);
        VaryByCoding();
        if (!AcceptEncoding.TryChoose(AcceptEncodingOf(request), GeneratedDocument.Codings, out ContentCoding coding))
        {
            return Error(request, PlanStatus.NotAcceptable);
        }

        ListingForm form = Accept.PrefersJson(request.Accept)
            ? ListingForm.Json(request.Query, coding)
            : ListingForm.Html(request.Query, coding, DirectoryDocument.NamesOf(directory)) with { Archives = archives };
        if (!DirectoryDocument.TryGet(
            snapshot, directory, _path, form, request.Prepared, out GeneratedDocument? document, out ListingPreparation? preparation))
        {
            return ResponsePlan.Await(preparation);
        }

        FieldSet fields = snapshot.Rules.FieldsFor(_path, default);
        var current = new Validators { EntityTag = document.EntityTag, LastModified = Validators.NoDate, IsDateStrong = false };
        PreconditionOutcome outcome = Preconditions.Evaluate(request.Conditions, current);
        if (outcome == PreconditionOutcome.Failed)
        {
            return Error(request, PlanStatus.PreconditionFailed);
        }

        AddPolicy(fields, ListingStyle.ContentSecurityPolicy);
        return ResponsePlan.Of(document, outcome == PreconditionOutcome.NotModified ? PlanStatus.NotModified : PlanStatus.Ok, fields);
    }

    private ResponsePlan Archive(scoped in PlanRequest request, SiteDirectory directory, ArchiveFormats format, SiteArchives archives)
    {
        int status = archives.StatusFor(request, format, scratch);
        FieldSet fields = snapshot.Rules.FieldsFor(_path, default);
        return status switch
        {
            PlanStatus.Ok => archives.Plan(request, format, directory, _path, fields, scratch),
            PlanStatus.NotModified => new ResponsePlan(status, PlanBody.None, fields),
            _ => Error(request, status),
        };
    }

    private ResponsePlan Represent(scoped in PlanRequest request, Asset asset) =>
        !request.Base.IsEmpty ? RedirectToRoot(request)
        : policy.Access.IsEmpty ? Represent(request, asset, isPrivate: false)
        : RepresentRestricted(request, asset);

    /// <summary>By itself, so that a site without restrictions has nothing to do for them.</summary>
    private ResponsePlan RepresentRestricted(scoped in PlanRequest request, Asset asset)
    {
        if (AccessTo(request, asset.Path) is { Decision: not AccessDecision.Granted } refusal)
        {
            return Refuse(request, refusal);
        }

        bool isPrivate = (asset.HasHashedName || asset.MayUseDictionary)
            && (policy.Access.Restricts(_path, scratch) || policy.Access.Restricts(asset.Path, scratch));
        return Represent(request, asset, isPrivate);
    }

    private ResponsePlan Represent(scoped in PlanRequest request, Asset asset, bool isPrivate)
    {
        if (asset.IsUnreadable)
        {
            return Error(request, PlanStatus.InternalServerError);
        }

        FieldSet fields = snapshot.Rules.FieldsFor(_path, asset.Path, asset.HasHashedName, isPrivate);
        Asset file = asset;
        DictionaryVariants ofClient = isPrivate ? default : DictionarySelection.Find(request, file, fields, scratch);
        int status = RepresentationSelector.Select(request, ref asset, ofClient, scratch, out int rangeCount);
        policy.OnDemand?.EnqueueIfWanted(file, asset, request.AcceptEncoding);
        if (status == PlanStatus.NotAcceptable)
        {
            scratch.Vary(VaryNames.AcceptEncoding);
        }

        DictionarySelection.Advertise(request, status == PlanStatus.Ok && !isPrivate ? file : null, fields, policy.Pages, scratch);
        return status switch
        {
            PlanStatus.Ok => ResponsePlan.Whole(status, asset, fields),
            PlanStatus.NotModified => ResponsePlan.NotModified(asset, fields),
            PlanStatus.PartialContent => ResponsePlan.Partial(asset, fields, scratch.Ranges[..rangeCount]),
            _ => Error(request, status),
        };
    }

    private PathMatch Find(scoped ReadOnlySpan<byte> decodedPath, out Asset? asset, out SiteDirectory? directory)
    {
        scratch.LookedUpPaths?.Add(decodedPath.ToArray());
        return snapshot.TryFind(decodedPath, out asset, out directory);
    }

    private ResponsePlan RedirectToRoot(scoped in PlanRequest request) => Redirect(request, default, request.Base, "/"u8);

    private ResponsePlan Redirect(
        scoped in PlanRequest request, ReadOnlySpan<byte> prefix, scoped ReadOnlySpan<byte> segment, ReadOnlySpan<byte> suffix)
    {
        if (_decoded.SlashesAsSent == 0)
        {
            RedirectLocation.Add(scratch, prefix, levels: 0, default, segment, suffix, request.Query);
        }
        else
        {
            // Up to the root of the site, and down again with single slashes.
            int levels = _decoded.SlashesAsSent - 1;
            RedirectLocation.Add(
                scratch, default, levels, RedirectLocation.DirectoryOf(_path, prefix)[1..], segment, suffix, request.Query);
        }

        // With the errors' Cache-Control: browsers store a permanent redirect indefinitely, and a directory may become a file.
        return new ResponsePlan(PlanStatus.PermanentRedirect, PlanBody.StatusText, snapshot.Rules.FieldsForError(_path));
    }
}
