namespace Millrace.StaticFiles.Rules;

/// <summary>
/// What a site's options and its <c>_headers</c> and <c>_redirects</c> files say about requests: compiled once, then asked per request
/// by any thread, without allocation. Immutable, but for the field sets it interns.
/// </summary>
internal sealed class SiteRules
{
    private readonly FieldRules _fields;
    private readonly RouteTable _beforeFiles;
    private readonly RouteTable _afterFiles;

    private SiteRules(FieldRules fields, List<Route> routes, CorsPolicy? cors, IReadOnlyList<string> warnings)
    {
        _fields = fields;
        _beforeFiles = new RouteTable(routes.Where(route => route.Phase == RulePhase.BeforeFiles));
        _afterFiles = new RouteTable(routes.Where(route => route.Phase == RulePhase.AfterFiles));
        Cors = cors;
        Warnings = warnings;
    }

    /// <summary>What of the site's own files is not understood: "file:line: cause remedy".</summary>
    public IReadOnlyList<string> Warnings { get; }

    /// <summary>How other origins are answered, or null where they are not.</summary>
    public CorsPolicy? Cors { get; }

    /// <summary>
    /// Compiles. What is wrong with the options throws <see cref="SiteException"/>; what is wrong with a site's file is a warning, and
    /// the rest of it holds.
    /// </summary>
    /// <param name="options">The options.</param>
    /// <param name="headersFile">The site's <c>_headers</c>; empty for none.</param>
    /// <param name="redirectsFile">The site's <c>_redirects</c>; empty for none.</param>
    public static SiteRules Compile(SiteOptions options, ReadOnlySpan<byte> headersFile, ReadOnlySpan<byte> redirectsFile)
    {
        var routes = new List<Route>();
        foreach (RedirectRule rule in options.Redirects)
        {
            routes.Add(Route.TryCompile(rule, out Route? route, out RuleProblem? problem)
                ? route
                : throw new SiteException(problem.Cause, problem.Remedy));
        }

        IReadOnlyList<FieldBlock> blocks = HeadersFile.Parse(headersFile, options.Cors, out IEnumerable<string> headersWarnings);
        RedirectsFile.Parse(redirectsFile, routes, out IEnumerable<string> redirectsWarnings);
        CorsPolicy? cors = options.Cors is null ? null : new CorsPolicy(options.Cors);
        return new SiteRules(new FieldRules(options, cors, blocks), routes, cors, [.. headersWarnings, .. redirectsWarnings]);
    }

    /// <summary>
    /// The fields of an answer about a file, Cache-Control among them. A rule holds where it matches the path that was asked for or the
    /// file's own: <c>*.html</c> is also about "/".
    /// </summary>
    public FieldSet FieldsFor(ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> filePath) => _fields.For(FieldUse.Asset, urlPath, filePath);

    /// <summary>The fields of an error: as of a file of that path, but for those that describe or keep the file itself.</summary>
    public FieldSet FieldsForError(ReadOnlySpan<byte> urlPath) => _fields.For(FieldUse.Error, urlPath, default);

    /// <summary>The fields of a redirect: as of an error, without Cache-Control.</summary>
    public FieldSet FieldsForRedirect(ReadOnlySpan<byte> urlPath) => _fields.For(FieldUse.Redirect, urlPath, default);

    /// <summary>Whether there is anything to ask <see cref="Match"/> in a phase.</summary>
    public bool HasRoutes(RulePhase phase) => !RoutesOf(phase).IsEmpty;

    /// <summary>
    /// What redirects and rewrites say about a request. A rewrite's target is to be looked up and not matched again.
    /// </summary>
    /// <param name="decodedPath">The path, decoded once, with its leading '/'.</param>
    /// <param name="query">The query as it was sent, without '?'. Empty for none.</param>
    /// <param name="phase">Before a file is looked for, or after none was found.</param>
    /// <param name="scratch">What the target is written to. Some KiB: what does not fit is <see cref="RuleMatch.TooLong"/>.</param>
    /// <param name="target">Where to, in <paramref name="scratch"/>.</param>
    public RuleMatch Match(
        ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, RulePhase phase, Span<byte> scratch, out RuleTarget target) =>
        RoutesOf(phase).Match(decodedPath, query, scratch, out target);

    private RouteTable RoutesOf(RulePhase phase) => phase == RulePhase.BeforeFiles ? _beforeFiles : _afterFiles;
}
