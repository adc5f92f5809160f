using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The site's <c>_redirects</c> file in the syntax of Netlify and Cloudflare, one rule a line. Lines that are invalid or not supported
/// (other hosts as a source, conditions, proxying) are reported and skipped.
/// </summary>
internal static class RedirectsFile
{
    public const string Name = "_redirects";

    public static void Parse(ReadOnlySpan<byte> bytes, List<Route> routes, out IEnumerable<string> warnings)
    {
        var file = new RuleFile(Name);
        int patterns = routes.Count(route => route.ExactPath is null);
        foreach ((int number, string text) in file.Read(bytes))
        {
            if (!RedirectLine.TryParse(text, defaultStatus: 301, out RedirectRule? rule, out RuleProblem? problem)
                || !Route.TryCompile(rule, out Route? route, out problem))
            {
                file.Warn(number, problem);
                continue;
            }

            patterns += route.ExactPath is null ? 1 : 0;
            if (route.ExactPath is null && patterns > RuleLimits.PatternRoutesMax)
            {
                string cause = $"There are more than {RuleLimits.PatternRoutesMax} rules with wildcards.";
                file.Warn(number, new RuleProblem(cause, "Join some, or write them exact."));
                continue;
            }

            routes.Add(route);
        }

        warnings = file.Warnings;
    }
}

/// <summary>
/// Parses a line of <c>_redirects</c>, or the text of an option: <c>FROM [name=value...] [TO] [STATUS[!]]</c>, in the syntax of Netlify and
/// Cloudflare. A query after FROM's '?' is equivalent to separate parameters.
/// </summary>
internal static class RedirectLine
{
    private static readonly char[] Blanks = [' ', '\t'];

    public static bool TryParse(
        string line, int defaultStatus, [NotNullWhen(true)] out RedirectRule? rule, [NotNullWhen(false)] out RuleProblem? problem)
    {
        problem = Parse(line, defaultStatus, out rule);
        return rule is not null;
    }

    private static RuleProblem? Parse(string line, int defaultStatus, out RedirectRule? rule)
    {
        rule = null;
        string[] words = line.Split(Blanks, StringSplitOptions.RemoveEmptyEntries);

        // A comment may follow on the same line.
        words = [.. words.TakeWhile(word => word[0] != '#')];
        if (words.Length == 0)
        {
            return new RuleProblem("The rule is empty.", "Write FROM TO, as /old /new.");
        }

        if (UrlHost.IndexOfHost(words[0]) > 0)
        {
            return RuleProblem.HostRule;
        }

        int to = FindTarget(words);
        string target = to < words.Length && !IsStatus(words[to]) ? words[to] : "";
        if (target.Length > 0 && target[0] != '/' && UrlHost.IndexOfHost(target) == 0)
        {
            return LocationTemplate.NoTarget(target);
        }

        string[] end = words[(target.Length == 0 ? to : to + 1)..];
        bool hasStatus = end.Length > 0 && IsStatus(end[0]);
        RuleProblem? problem = ReadQuery(words[0], words[1..to], out string from, out List<QueryCondition> query)
            ?? RefuseConditions(hasStatus ? end[1..] : end);
        if (problem is null)
        {
            int status = hasStatus ? int.Parse(end[0].AsSpan(0, 3), NumberStyles.None, CultureInfo.InvariantCulture) : defaultStatus;
            rule = new RedirectRule(from, target, status) { Forced = hasStatus && end[0].Length == 4, Query = query };
        }

        return problem;
    }

    /// <summary>The index of the first word that is a target or, if there is none, a status; the length if there is neither.</summary>
    private static int FindTarget(string[] words)
    {
        for (int i = 1; i < words.Length; i++)
        {
            string word = words[i];
            if (word[0] == '/' || UrlHost.IndexOfHost(word) > 0 || IsStatus(word) || !word.Contains('=', StringComparison.Ordinal))
            {
                return i;
            }
        }

        return words.Length;
    }

    private static RuleProblem? RefuseConditions(string[] words) => words.Length == 0
        ? null
        : new RuleProblem(
            $"'{FieldValidation.Shown(words[0])}' after the target is not supported.",
            "Leave conditions (Country=, Language=, Role=, Cookie=) out: the server knows paths and query parameters only.");

    private static RuleProblem? ReadQuery(string first, string[] words, out string from, out List<QueryCondition> query)
    {
        query = [];
        int question = first.IndexOf('?', StringComparison.Ordinal);
        from = question < 0 ? first : first[..question];
        string[] inPath = question < 0 ? [] : first[(question + 1)..].Split('&', StringSplitOptions.RemoveEmptyEntries);
        foreach (string word in inPath.Concat(words))
        {
            int equals = word.IndexOf('=', StringComparison.Ordinal);
            if (equals <= 0)
            {
                return new RuleProblem(
                    $"'{FieldValidation.Shown(word)}' is not a query parameter.", "Write name=value, or name=:placeholder.");
            }

            query.Add(new QueryCondition(Uri.UnescapeDataString(word[..equals]), Uri.UnescapeDataString(word[(equals + 1)..])));
        }

        return null;
    }

    private static bool IsStatus(string word) => word is [>= '0' and <= '9', >= '0' and <= '9', >= '0' and <= '9'] or
        [>= '0' and <= '9', >= '0' and <= '9', >= '0' and <= '9', '!'];
}
