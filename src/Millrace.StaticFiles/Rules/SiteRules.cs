using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The rules of a site, from its options and its <c>_headers</c> and <c>_redirects</c> files: compiled once, then queried for each request
/// on any thread without allocation. Immutable except for the interned field sets.
/// </summary>
internal sealed class SiteRules(FieldRules fields, List<Route> routes, CorsPolicy? cors, IReadOnlyList<string> warnings)
{
    private readonly RouteTable _beforeFiles = new(routes.Where(static route => route.Phase == RulePhase.BeforeFiles));
    private readonly RouteTable _afterFiles = new(routes.Where(static route => route.Phase == RulePhase.AfterFiles));

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
        var compiled = new List<Route>();
        foreach (RedirectRule rule in options.Redirects)
        {
            compiled.Add(Route.TryCompile(rule, out Route? route, out RuleProblem? problem)
                ? route
                : throw problem.ToException());
        }

        IReadOnlyList<FieldBlock> blocks = HeadersFile.Parse(headersFile, options.Cors, out IEnumerable<string> headersWarnings);
        RedirectsFile.Parse(redirectsFile, compiled, out IEnumerable<string> redirectsWarnings);
        CorsPolicy? policy = options.Cors is null ? null : new CorsPolicy(options.Cors);
        return new SiteRules(new FieldRules(options, policy, blocks), compiled, policy, [.. headersWarnings, .. redirectsWarnings]);
    }

    /// <summary>
    /// The fields of a response about a file, including Cache-Control. A rule applies if it matches the requested path or the file's own:
    /// <c>*.html</c> also applies to "/".
    /// </summary>
    /// <param name="urlPath">The requested path.</param>
    /// <param name="filePath">The file's own path; empty for generated content such as listings.</param>
    /// <param name="isHashed">Whether the file's name contains a content hash.</param>
    public FieldSet FieldsFor(ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> filePath, bool isHashed = false) =>
        fields.For(isHashed ? FieldUse.HashedAsset : FieldUse.Asset, urlPath, filePath);

    /// <summary>The fields of an error: those of a file at that path, except the ones that describe the file or its storage.</summary>
    public FieldSet FieldsForError(ReadOnlySpan<byte> urlPath) => fields.For(FieldUse.Error, urlPath, default);

    /// <summary>The fields of a redirect: those of an error, without Cache-Control.</summary>
    public FieldSet FieldsForRedirect(ReadOnlySpan<byte> urlPath) => fields.For(FieldUse.Redirect, urlPath, default);

    /// <summary>Whether a phase has any routes to match.</summary>
    public bool HasRoutes(RulePhase phase) => !RoutesOf(phase).IsEmpty;

    /// <summary>
    /// Matches redirects and rewrites. The target, in <paramref name="scratch"/>, is not matched again; one that does not fit is
    /// <see cref="RuleMatch.TooLong"/>.
    /// </summary>
    public RuleMatch Match(
        ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, RulePhase phase, Span<byte> scratch, out RuleTarget target) =>
        RoutesOf(phase).Match(decodedPath, query, scratch, out target);

    private RouteTable RoutesOf(RulePhase phase) => phase == RulePhase.BeforeFiles ? _beforeFiles : _afterFiles;
}

/// <summary>
/// The routes of one phase. The first match in their order applies. Exact routes are found by hash, so that a site that moved thousands of
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
