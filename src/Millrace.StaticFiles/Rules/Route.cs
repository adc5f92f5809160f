using System.Diagnostics.CodeAnalysis;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>A <see cref="RedirectRule"/>, compiled. Immutable; applying it allocates nothing.</summary>
internal sealed class Route
{
    private readonly PathPattern _from;
    private readonly QueryDemand[] _demands;
    private readonly LocationTemplate? _location;
    private readonly PathTemplate? _path;

    private Route(RedirectRule rule, PathPattern from, QueryDemand[] demands, LocationTemplate? location, PathTemplate? path)
    {
        _from = from;
        _demands = demands;
        _location = location;
        _path = path;
        Status = rule.Status;
        Phase = rule.Forced ? RulePhase.BeforeFiles : RulePhase.AfterFiles;
    }

    public int Status { get; }

    public RulePhase Phase { get; }

    /// <summary>The only path it is about, where it has no wildcards, or null.</summary>
    public byte[]? ExactPath => _from.Literal;

    public static bool TryCompile(
        RedirectRule rule, [NotNullWhen(true)] out Route? route, [NotNullWhen(false)] out RuleProblem? problem)
    {
        route = null;
        problem = CheckStatus(rule);
        if (problem is not null || !PathPattern.TryParse(rule.From, PatternSyntax.Route, out PathPattern? from, out problem))
        {
            return false;
        }

        List<string> names = [.. from.CaptureNames];
        problem = ReadDemands(rule, names, out QueryDemand[] demands);
        LocationTemplate? location = null;
        PathTemplate? path = null;
        if (problem is null && IsRedirect(rule.Status))
        {
            _ = LocationTemplate.TryParse(rule.To, names, out location, out problem);
        }
        else if (problem is null && rule.To.Length > 0)
        {
            _ = PathTemplate.TryParse(rule.To, names, out path, out problem);
        }

        route = problem is null ? new Route(rule, from, demands, location, path) : null;
        return route is not null;
    }

    /// <summary>What the route says about a request: None where it is not about it.</summary>
    public RuleMatch Apply(ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, Span<byte> scratch, out RuleTarget target)
    {
        target = default;
        Span<TextRange> ranges = stackalloc TextRange[RuleLimits.CapturesMax];
        if (!_from.TryMatch(decodedPath, ranges) || !MeetsDemands(query, ranges))
        {
            return RuleMatch.None;
        }

        var captures = new RouteCaptures(decodedPath, query, ranges, _from.CaptureNames.Count);
        return _location is not null
            ? Redirect(_location, captures, decodedPath, query, scratch, out target)
            : Rewrite(captures, scratch, out target);
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
        if (!template.TryWrite(captures, query, _demands, scratch, out ReadOnlySpan<byte> location, out var newPath, out var newQuery))
        {
            return RuleMatch.TooLong;
        }

        // A redirect of a page to itself, as "/* /index.html 302" is for /index.html, would go round until the browser gives up.
        if (template.IsOnSite && newQuery.SequenceEqual(query) && QueryText.PathDecodesTo(newPath, decodedPath))
        {
            return RuleMatch.None;
        }

        target = new RuleTarget { Status = Status, Location = location };
        return RuleMatch.Redirect;
    }

    private RuleMatch Rewrite(scoped RouteCaptures captures, Span<byte> scratch, out RuleTarget target)
    {
        ReadOnlySpan<byte> path = default;
        RuleMatch match = _path is null ? RuleMatch.Rewrite : _path.Write(captures, scratch, out path);
        target = match == RuleMatch.Rewrite ? new RuleTarget { Status = Status, Path = path } : default;
        return match;
    }

    private bool MeetsDemands(ReadOnlySpan<byte> query, Span<TextRange> ranges)
    {
        foreach (QueryDemand demand in _demands)
        {
            if (!QueryText.TryFind(query, demand.Name, out TextRange value))
            {
                return false;
            }

            if (demand.Capture != QueryDemand.NoCapture)
            {
                ranges[demand.Capture] = value;
            }
            else if (!QueryText.DecodesTo(value.In(query), demand.Value))
            {
                return false;
            }
        }

        return true;
    }

    private static bool IsRedirect(int status) => status is 301 or 302 or 303 or 307 or 308;

    private static RuleProblem? CheckStatus(RedirectRule rule)
    {
        if (!IsRedirect(rule.Status) && rule.Status is not (200 or 404 or 410))
        {
            return new RuleProblem($"The status {rule.Status} is not for rules.", "Write 200, 301, 302, 303, 307, 308, 404 or 410.");
        }

        return rule.To.Length == 0 && rule.Status is not (404 or 410)
            ? new RuleProblem($"The rule for '{FieldRefusals.Shown(rule.From)}' has no target.", "Write where it leads to, as /new.")
            : null;
    }

    private static RuleProblem? ReadDemands(RedirectRule rule, List<string> names, out QueryDemand[] demands)
    {
        demands = new QueryDemand[rule.Query.Count];
        for (int i = 0; i < demands.Length; i++)
        {
            (string name, string value) = rule.Query[i];
            bool captures = value is [':', ..] && PatternReader.NameCharactersAt(value, 0) == value.Length - 1 && value.Length > 1;
            if (name.Length == 0 || (captures && names.Contains(value[1..])))
            {
                return new RuleProblem(
                    $"The query parameter '{FieldRefusals.Shown($"{name}={value}")}' has no name, or a placeholder that is taken.",
                    "Write name=value, or name=:placeholder with a name of its own.");
            }

            demands[i] = new QueryDemand(name, captures ? "" : value, captures ? names.Count : QueryDemand.NoCapture);
            if (captures)
            {
                names.Add(value[1..]);
            }
        }

        return names.Count <= RuleLimits.CapturesMax
            ? null
            : new RuleProblem(
                $"The rule for '{FieldRefusals.Shown(rule.From)}' has {names.Count} placeholders.",
                $"Use at most {RuleLimits.CapturesMax}.");
    }
}
