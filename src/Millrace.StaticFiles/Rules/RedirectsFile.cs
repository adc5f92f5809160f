using System.Globalization;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The site's <c>_redirects</c> file in the syntax of Netlify and Cloudflare, one rule a line. Lines that are invalid or not supported
/// (other hosts as a source, conditions, applications that the operator has not allowed) are reported and skipped.
/// </summary>
internal static class RedirectsFile
{
    private static readonly char[] Blanks = [' ', '\t'];

    /// <summary>Adds the rules of a file to the routes. Returns the warnings.</summary>
    public static List<string> Parse(ReadOnlySpan<byte> bytes, List<Route> routes, AllowedUpstreams proxies)
    {
        int patterns = routes.Count(route => route.ExactPath is null);
        return RuleFile.Read("_redirects", bytes, text =>
        {
            var route = Route.Compile(ParseLine(text, defaultStatus: 301), proxies);
            if (route.ExactPath is null && ++patterns > RuleLimits.PatternRoutesMax)
            {
                throw new SiteException(
                    $"There are more than {RuleLimits.PatternRoutesMax} rules with wildcards.", "Join some, or write them exact.");
            }

            routes.Add(route);
        });
    }

    /// <summary>
    /// Parses a line, or the text of an option: <c>FROM [name=value...] [TO] [STATUS[!]]</c>. A query after FROM's '?' is equivalent to
    /// separate parameters. Throws <see cref="SiteException"/> for a line that is not valid.
    /// </summary>
    public static RedirectRule ParseLine(string line, int defaultStatus)
    {
        string[] words = line.Split(Blanks, StringSplitOptions.RemoveEmptyEntries);

        // A comment may follow on the same line.
        words = [.. words.TakeWhile(word => word[0] != '#')];
        if (words.Length == 0)
        {
            throw new SiteException("The rule is empty.", "Write FROM TO, such as /old /new.");
        }

        UrlHost.RefuseRuleFor(words[0]);
        int to = FindTarget(words);
        string target = to < words.Length && !IsStatus(words[to]) ? words[to] : "";
        if (target.Length > 0 && target[0] != '/' && UrlHost.IndexOfHost(target) == 0)
        {
            throw LocationTemplate.NoTarget(target);
        }

        string[] end = words[(target.Length == 0 ? to : to + 1)..];
        bool hasStatus = end.Length > 0 && IsStatus(end[0]);
        List<QueryCondition> query = ReadQuery(words[0], words[1..to], out string from);
        RefuseConditions(hasStatus ? end[1..] : end);
        int status = hasStatus ? int.Parse(end[0].AsSpan(0, 3), NumberStyles.None, CultureInfo.InvariantCulture) : defaultStatus;
        return new RedirectRule(from, target, status) { Forced = hasStatus && end[0].Length == 4, Query = query };
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

    private static void RefuseConditions(string[] words)
    {
        if (words.Length > 0)
        {
            throw new SiteException(
                $"'{FieldValidation.Shown(words[0])}' after the target is not supported.",
                "Leave conditions (Country=, Language=, Role=, Cookie=) out: the server knows paths and query parameters only.");
        }
    }

    private static List<QueryCondition> ReadQuery(string first, string[] words, out string from)
    {
        var query = new List<QueryCondition>();
        int question = first.IndexOf('?', StringComparison.Ordinal);
        from = question < 0 ? first : first[..question];
        string[] inPath = question < 0 ? [] : first[(question + 1)..].Split('&', StringSplitOptions.RemoveEmptyEntries);
        foreach (string word in inPath.Concat(words))
        {
            int equals = word.IndexOf('=', StringComparison.Ordinal);
            if (equals <= 0)
            {
                throw new SiteException(
                    $"'{FieldValidation.Shown(word)}' is not a query parameter.", "Write name=value, or name=:placeholder.");
            }

            query.Add(new QueryCondition(Uri.UnescapeDataString(word[..equals]), Uri.UnescapeDataString(word[(equals + 1)..])));
        }

        return query;
    }

    private static bool IsStatus(string word) => word is [>= '0' and <= '9', >= '0' and <= '9', >= '0' and <= '9'] or
        [>= '0' and <= '9', >= '0' and <= '9', >= '0' and <= '9', '!'];
}
