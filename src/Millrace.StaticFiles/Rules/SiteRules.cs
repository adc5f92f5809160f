using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The rules of a site, from its options and its <c>_headers</c> and <c>_redirects</c> files: compiled once, then queried for each request
/// on any thread without allocation. Immutable except for the interned field sets.
/// </summary>
internal sealed class SiteRules(
    FieldRules fields, List<Route> routes, List<Route> proxies, CorsPolicy? cors, IReadOnlyList<string> warnings)
{
    /// <summary>The routes to applications that apply before everything of the site.</summary>
    public RouteTable Proxies { get; } = new(proxies.Where(static route => route.IsForced));

    /// <summary>The routes to applications that apply if the site has neither file nor rule.</summary>
    public RouteTable FallbackProxies { get; } = new(proxies.Where(static route => !route.IsForced));

    /// <summary>Whether any request is sent to an application.</summary>
    public bool HasProxies { get; } = proxies.Count > 0 || routes.Exists(static route => route.IsProxy);

    /// <summary>The forced routes ("301!"), which apply before the file lookup.</summary>
    public RouteTable ForcedRoutes { get; } = new(routes.Where(static route => route.IsForced));

    /// <summary>The routes that apply if no file was found.</summary>
    public RouteTable OtherRoutes { get; } = new(routes.Where(static route => !route.IsForced));

    /// <summary>The problems in the site's own files, as "file:line: cause remedy".</summary>
    public IReadOnlyList<string> Warnings => warnings;

    /// <summary>The CORS policy; null if other origins are not allowed.</summary>
    public CorsPolicy? Cors => cors;

    /// <summary>
    /// Compiles the rules. Invalid options throw <see cref="SiteException"/>; an invalid line of a site's file is a warning, and the other
    /// lines apply.
    /// </summary>
    public static SiteRules Compile(SiteOptions options, ReadOnlySpan<byte> headersFile, ReadOnlySpan<byte> redirectsFile)
    {
        List<Route> routes = [.. options.Redirects.Select(static rule => Route.Compile(rule))];
        var policy = new AllowedUpstreams(options);
        List<Route> proxies = [.. options.Proxies.Select(rule => Route.Compile(policy.Apply(rule)))];
        IReadOnlyList<FieldBlock> blocks = HeadersFile.Parse(headersFile, options.Cors, out List<string> headersWarnings);
        List<string> redirectsWarnings = RedirectsFile.Parse(redirectsFile, routes, policy);
        CorsPolicy? cors = options.Cors is null ? null : new CorsPolicy(options.Cors);
        return new SiteRules(new FieldRules(options, cors, blocks), routes, proxies, cors, [.. headersWarnings, .. redirectsWarnings]);
    }

    /// <summary>
    /// The fields of a response about a file, including Cache-Control. A rule applies if it matches the requested path or the file's own:
    /// <c>*.html</c> also applies to "/". Generated content such as listings has no path of its own.
    /// </summary>
    public FieldSet FieldsFor(ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> filePath, bool isHashed = false, bool isPrivate = false) =>
        fields.For(
            !isHashed ? FieldUse.Asset : isPrivate ? FieldUse.PrivateHashedAsset : FieldUse.HashedAsset, urlPath, filePath);

    /// <summary>The fields of the dictionary of pages: those of a file at that path, but for its Cache-Control.</summary>
    public FieldSet FieldsForPageDictionary(ReadOnlySpan<byte> urlPath) => fields.For(FieldUse.PageDictionary, urlPath, default);

    /// <summary>The fields of an error: those of a file at that path, except the ones that describe the file or its storage.</summary>
    public FieldSet FieldsForError(ReadOnlySpan<byte> urlPath) => fields.For(FieldUse.Error, urlPath, default);

    /// <summary>The fields of a redirect: those of an error, without Cache-Control.</summary>
    public FieldSet FieldsForRedirect(ReadOnlySpan<byte> urlPath) => fields.For(FieldUse.Redirect, urlPath, default);

    /// <summary>The fields that replace those of an application's response: the options' only, not the site's own or defaults.</summary>
    public FieldSet FieldsForUpstream(ReadOnlySpan<byte> urlPath) => fields.For(FieldUse.Upstream, urlPath, default);
}

/// <summary>
/// Redirects and rewrites. The first match in their order applies. Exact routes are found by hash, so that a site that moved thousands of
/// pages pays only for routes with wildcards.
/// </summary>
internal sealed class RouteTable
{
    private readonly Route[] _routes;

    /// <summary>The indexes of the routes with wildcards, in order.</summary>
    private readonly int[] _patterns;
    private readonly Dictionary<byte[], int[]> _exact;
    private readonly Dictionary<byte[], int[]>.AlternateLookup<ReadOnlySpan<byte>> _exactByPath;

    public RouteTable(IEnumerable<Route> routes)
    {
        _routes = [.. routes];
        _patterns = [.. Enumerable.Range(0, _routes.Length).Where(index => _routes[index].ExactPath is null)];
        _exact = Enumerable.Range(0, _routes.Length)
            .Where(index => _routes[index].ExactPath is not null)
            .GroupBy(index => _routes[index].ExactPath!, BytesComparer.Instance)
            .ToDictionary(group => group.Key, group => group.ToArray(), BytesComparer.Instance);
        _exactByPath = _exact.GetAlternateLookup<ReadOnlySpan<byte>>();
    }

    public bool IsEmpty => _routes.Length == 0;

    /// <summary>
    /// Finds the rule of a request. The target, in <paramref name="scratch"/>, is not matched again; one that does not fit is
    /// <see cref="RuleMatch.TooLong"/>.
    /// </summary>
    public RuleMatch Match(ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, Span<byte> scratch, out RuleTarget target)
    {
        ReadOnlySpan<int> exact = _exactByPath.TryGetValue(decodedPath, out int[]? indexes) ? indexes : [];
        ReadOnlySpan<int> patterns = _patterns;
        while (!exact.IsEmpty || !patterns.IsEmpty)
        {
            // Merges two ascending lists.
            bool isExactNext = !exact.IsEmpty && (patterns.IsEmpty || exact[0] < patterns[0]);
            int index = isExactNext ? exact[0] : patterns[0];
            exact = isExactNext ? exact[1..] : exact;
            patterns = isExactNext ? patterns : patterns[1..];

            RuleMatch match = _routes[index].Apply(decodedPath, query, scratch, out target);
            if (match != RuleMatch.None)
            {
                return match;
            }
        }

        target = default;
        return RuleMatch.None;
    }
}
