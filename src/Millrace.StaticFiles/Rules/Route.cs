using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>A compiled <see cref="RedirectRule"/> or <see cref="ProxyRule"/>. Immutable; applying it allocates nothing.</summary>
internal sealed class Route(
    RedirectRule rule,
    PathPattern from,
    RequiredQuery[] requiredQuery,
    LocationTemplate? location,
    PathTemplate? path,
    ProxyRule? proxy = null)
{
    public int Status => rule.Status;

    public bool IsForced => rule.Forced;

    /// <summary>Whether it leads to an application.</summary>
    public bool IsProxy => proxy is not null;

    /// <summary>The only path that it matches, if it has no wildcards; otherwise null.</summary>
    public byte[]? ExactPath => from.Literal;

    /// <summary>Throws <see cref="SiteException"/> for a rule that is not valid.</summary>
    /// <param name="rule">The rule.</param>
    /// <param name="proxies">What the operator lets rules of a site's own files do with applications; null for nothing.</param>
    public static Route Compile(RedirectRule rule, AllowedUpstreams? proxies = null)
    {
        if (rule.Status == 200 && UrlHost.IndexOfHost(rule.To) > 0)
        {
            List<string> captures = [.. PathPattern.Parse(rule.From, PatternSyntax.Route).CaptureNames];
            return Compile(
                rule,
                ReadRequiredQuery(rule, captures),
                captures,
                AllowedUpstreams.Require(proxies, rule));
        }

        CheckStatus(rule);
        var from = PathPattern.Parse(rule.From, PatternSyntax.Route);
        List<string> names = [.. from.CaptureNames];
        RequiredQuery[] requiredQuery = ReadRequiredQuery(rule, names);
        return IsRedirect(rule.Status)
            ? new Route(rule, from, requiredQuery, LocationTemplate.Parse(rule.To, names), null)
            : new Route(rule, from, requiredQuery, null, rule.To.Length > 0 ? PathTemplate.Parse(rule.To, names) : null);
    }

    /// <summary>Throws <see cref="SiteException"/> for a rule that is not valid.</summary>
    public static Route Compile(ProxyRule rule)
    {
        List<string> captures = [.. PathPattern.Parse(rule.Path, PatternSyntax.Route).CaptureNames];
        return Compile(new RedirectRule(rule.Path, "", 200) { Forced = !rule.IsFallback }, [], captures, rule);
    }

    private static Route Compile(RedirectRule rule, RequiredQuery[] requiredQuery, List<string> captures, ProxyRule proxy)
    {
        if (proxy.TargetPath?.Contains('#', StringComparison.Ordinal) == true)
        {
            throw new SiteException(
                $"The target of '{FieldValidation.Shown(rule.From)}' has a fragment, which is never sent to a server.", "Leave it out.");
        }

        return new Route(
            rule,
            PathPattern.Parse(rule.From, PatternSyntax.Route),
            requiredQuery,
            proxy.TargetPath is string path ? LocationTemplate.Parse(path, captures, keepsQuery: true) : null,
            null,
            proxy);
    }

    /// <summary>Applies the route to a request: None if it does not match.</summary>
    public RuleMatch Apply(ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, Span<byte> scratch, out RuleTarget target)
    {
        target = default;
        Span<TextRange> ranges = stackalloc TextRange[RuleLimits.CapturesMax];
        if (!from.TryMatch(decodedPath, ranges) || !HasRequiredQuery(query, ranges))
        {
            return RuleMatch.None;
        }

        var captures = new RouteCaptures(decodedPath, query, ranges, from.CaptureNames.Count);
        return proxy is not null ? Forward(captures, query, scratch, out target)
            : location is not null ? Redirect(location, captures, decodedPath, query, scratch, out target)
            : Rewrite(captures, scratch, out target);
    }

    private RuleMatch Forward(scoped RouteCaptures captures, ReadOnlySpan<byte> query, Span<byte> scratch, out RuleTarget target)
    {
        target = default;
        ReadOnlySpan<byte> written = default;
        if (location is not null)
        {
            if (!location.TryWrite(captures, query, requiredQuery, scratch, out written, out ReadOnlySpan<byte> newPath, out _))
            {
                return RuleMatch.TooLong;
            }

            // Captures of parts of segments can join to "..", which would lead out of the target's own path.
            if (TargetPath.HasDotSegment(newPath))
            {
                return RuleMatch.None;
            }
        }

        target = new RuleTarget { Status = Status, Proxy = proxy, Location = written };
        return RuleMatch.Proxy;
    }

    private RuleMatch Redirect(
        LocationTemplate template,
        scoped RouteCaptures captures,
        ReadOnlySpan<byte> decodedPath,
        ReadOnlySpan<byte> query,
        Span<byte> scratch,
        out RuleTarget target)
    {
        target = default;
        if (!template.TryWrite(
            captures, query, requiredQuery, scratch, out ReadOnlySpan<byte> location, out var newPath, out var newQuery))
        {
            return RuleMatch.TooLong;
        }

        // A redirect of a page to itself, such as "/* /index.html 302" for /index.html, would loop until the browser stops.
        if (template.IsOnSite && newQuery.SequenceEqual(query) && QueryText.PathDecodesTo(newPath, decodedPath))
        {
            return RuleMatch.None;
        }

        target = new RuleTarget { Status = Status, Location = location };
        return RuleMatch.Redirect;
    }

    private RuleMatch Rewrite(scoped RouteCaptures captures, Span<byte> scratch, out RuleTarget target)
    {
        ReadOnlySpan<byte> file = default;
        RuleMatch match = path is null ? RuleMatch.Rewrite : path.Write(captures, scratch, out file);
        target = match == RuleMatch.Rewrite ? new RuleTarget { Status = Status, Path = file } : default;
        return match;
    }

    private bool HasRequiredQuery(ReadOnlySpan<byte> query, Span<TextRange> ranges)
    {
        foreach (RequiredQuery parameter in requiredQuery)
        {
            if (!QueryText.TryFind(query, parameter.Name, out TextRange value))
            {
                return false;
            }

            if (parameter.Capture != RequiredQuery.NoCapture)
            {
                ranges[parameter.Capture] = value;
            }
            else if (!QueryText.DecodesTo(value.In(query), parameter.Value))
            {
                return false;
            }
        }

        return true;
    }

    private static bool IsRedirect(int status) => status is 301 or 302 or 303 or 307 or 308;

    private static void CheckStatus(RedirectRule rule)
    {
        if (!IsRedirect(rule.Status) && rule.Status is not (200 or 404 or 410))
        {
            throw new SiteException($"{rule.Status} is not a status for rules.", "Write 200, 301, 302, 303, 307, 308, 404 or 410.");
        }

        if (rule.To.Length == 0 && rule.Status is not (404 or 410))
        {
            throw new SiteException(
                $"The rule for '{FieldValidation.Shown(rule.From)}' has no target.", "Add one, such as /new.");
        }
    }

    private static RequiredQuery[] ReadRequiredQuery(RedirectRule rule, List<string> names)
    {
        var requiredQuery = new RequiredQuery[rule.Query.Count];
        for (int i = 0; i < requiredQuery.Length; i++)
        {
            (string name, string value) = rule.Query[i];
            bool captures = value is [':', ..] && PatternReader.NameCharactersAt(value, 0) == value.Length - 1 && value.Length > 1;
            if (name.Length == 0 || (captures && names.Contains(value[1..])))
            {
                throw new SiteException(
                    $"The query parameter '{FieldValidation.Shown($"{name}={value}")}' has no name, or a placeholder that is taken.",
                    "Write name=value, or name=:placeholder with a name of its own.");
            }

            requiredQuery[i] = new RequiredQuery(
                Encoding.UTF8.GetBytes(name), Encoding.UTF8.GetBytes(value), captures ? names.Count : RequiredQuery.NoCapture);
            if (captures)
            {
                names.Add(value[1..]);
            }
        }

        return names.Count <= RuleLimits.CapturesMax
            ? requiredQuery
            : throw new SiteException(
                $"The rule for '{FieldValidation.Shown(rule.From)}' has {names.Count} placeholders.",
                $"Use at most {RuleLimits.CapturesMax}.");
    }
}

internal enum RuleMatch
{
    /// <summary>No match: the request is answered as without rules.</summary>
    None,

    /// <summary>Redirect the client to <see cref="RuleTarget.Location"/>.</summary>
    Redirect,

    /// <summary>
    /// Send the file at <see cref="RuleTarget.Path"/> with the target's status. It is looked up once and not matched again, so that rules
    /// cannot loop.
    /// </summary>
    Rewrite,

    /// <summary>Send the request to the application of <see cref="RuleTarget.Proxy"/>.</summary>
    Proxy,

    /// <summary>A rule matches, but its target does not fit the scratch memory: 414.</summary>
    TooLong,
}

/// <summary>The target of a rule, in the scratch memory of its <see cref="RouteTable.Match"/>.</summary>
internal readonly ref struct RuleTarget
{
    /// <summary>The status of the response: 301, 302, 303, 307 or 308 for a redirect; 200, 404 or 410 for a rewrite.</summary>
    public int Status { get; init; }

    /// <summary>
    /// The Location of a redirect: URL characters of ASCII only. For an application: the target of the request to it, empty for the
    /// request's own. Empty for a rewrite.
    /// </summary>
    public ReadOnlySpan<byte> Location { get; init; }

    /// <summary>The decoded path of the file to send. Empty for a redirect, and for a bare 404 or 410, which uses the error page.</summary>
    public ReadOnlySpan<byte> Path { get; init; }

    /// <summary>The rule that leads to an application; null for all others.</summary>
    public ProxyRule? Proxy { get; init; }
}

/// <summary>
/// The captures of a route in a request: the decoded path, the raw query, and the position of each capture in one of them.
/// </summary>
internal readonly ref struct RouteCaptures(ReadOnlySpan<byte> path, ReadOnlySpan<byte> query, ReadOnlySpan<TextRange> ranges, int inPath)
{
    private readonly ReadOnlySpan<byte> _path = path;
    private readonly ReadOnlySpan<byte> _query = query;
    private readonly ReadOnlySpan<TextRange> _ranges = ranges;

    /// <summary>Whether it is decoded bytes of the path, and not a parameter's value, still percent-encoded.</summary>
    public bool IsOfPath(int capture) => capture < inPath;

    public ReadOnlySpan<byte> this[int capture] => _ranges[capture].In(IsOfPath(capture) ? _path : _query);
}

/// <summary>A query parameter that a route requires: its name, and its value unless that is captured.</summary>
internal sealed record RequiredQuery(byte[] Name, byte[] Value, int Capture)
{
    /// <summary>The <see cref="Capture"/> of a parameter that requires a fixed value.</summary>
    public const int NoCapture = -1;

    /// <summary>Whether one of the required parameters has this raw name.</summary>
    public static bool Names(ReadOnlySpan<RequiredQuery> parameters, ReadOnlySpan<byte> rawName)
    {
        foreach (RequiredQuery parameter in parameters)
        {
            if (QueryText.DecodesTo(rawName, parameter.Name))
            {
                return true;
            }
        }

        return false;
    }
}
