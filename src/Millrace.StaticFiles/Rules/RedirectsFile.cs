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
        rule = null;
        string[] words = line.Split(Blanks, StringSplitOptions.RemoveEmptyEntries);

        // A comment may follow on the same line.
        words = [.. words.TakeWhile(word => word[0] != '#')];
        if (words.Length == 0)
        {
            problem = new RuleProblem("The rule is empty.", "Write FROM TO, as /old /new.");
            return false;
        }

        if (UrlHost.StartIn(words[0]) > 0)
        {
            problem = RuleProblem.HostRule;
            return false;
        }

        int to = FindTarget(words);
        string target = to < words.Length && !IsStatus(words[to]) ? words[to] : "";
        if (target.Length > 0 && target[0] != '/' && UrlHost.StartIn(target) == 0)
        {
            problem = LocationTemplate.NoTarget(target);
            return false;
        }

        if (!TryReadQuery(words[0], words[1..to], out string from, out List<QueryCondition> query, out problem)
            || !TryReadStatus(words[(target.Length == 0 ? to : to + 1)..], defaultStatus, out int status, out bool forced, out problem))
        {
            return false;
        }

        rule = new RedirectRule(from, target, status) { Forced = forced, Query = query };
        return true;
    }

    /// <summary>The index of the first word that is a target or, if there is none, a status; the length if there is neither.</summary>
    private static int FindTarget(string[] words)
    {
        for (int i = 1; i < words.Length; i++)
        {
            string word = words[i];
            if (word[0] == '/' || UrlHost.StartIn(word) > 0 || IsStatus(word) || !word.Contains('=', StringComparison.Ordinal))
            {
                return i;
            }
        }

        return words.Length;
    }

    private static bool TryReadStatus(
        string[] words, int defaultStatus, out int status, out bool forced, [NotNullWhen(false)] out RuleProblem? problem)
    {
        bool isReported = words.Length > 0 && IsStatus(words[0]);
        status = isReported ? int.Parse(words[0].AsSpan(0, 3), NumberStyles.None, CultureInfo.InvariantCulture) : defaultStatus;
        forced = isReported && words[0].Length == 4;
        string[] conditions = isReported ? words[1..] : words;
        problem = conditions.Length == 0
            ? null
            : new RuleProblem(
                $"'{FieldValidation.Shown(conditions[0])}' after the target is not supported.",
                "Leave conditions (Country=, Language=, Role=, Cookie=) out: the server knows paths and query parameters only.");
        return problem is null;
    }

    private static bool TryReadQuery(
        string first, string[] words, out string from, out List<QueryCondition> query, [NotNullWhen(false)] out RuleProblem? problem)
    {
        query = [];
        problem = null;
        int question = first.IndexOf('?', StringComparison.Ordinal);
        from = question < 0 ? first : first[..question];
        string[] inPath = question < 0 ? [] : first[(question + 1)..].Split('&', StringSplitOptions.RemoveEmptyEntries);
        foreach (string word in inPath.Concat(words))
        {
            int equals = word.IndexOf('=', StringComparison.Ordinal);
            if (equals <= 0)
            {
                problem = new RuleProblem(
                    $"'{FieldValidation.Shown(word)}' is not a query parameter.", "Write name=value, or name=:placeholder.");
                return false;
            }

            query.Add(new QueryCondition(Uri.UnescapeDataString(word[..equals]), Uri.UnescapeDataString(word[(equals + 1)..])));
        }

        return true;
    }

    private static bool IsStatus(string word) => word is [>= '0' and <= '9', >= '0' and <= '9', >= '0' and <= '9'] or
        [>= '0' and <= '9', >= '0' and <= '9', >= '0' and <= '9', '!'];
}
