namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The site's <c>_redirects</c> file in the syntax of Netlify and Cloudflare, one rule a line. Lines that are invalid or not supported
/// (other hosts as a source, conditions, proxying) are reported and skipped.
/// </summary>
internal static class RedirectsFile
{
    public const string Name = "_redirects";

    /// <param name="bytes">The file.</param>
    /// <param name="routes">The list to which the rules are appended in order.</param>
    /// <param name="warnings">The problems, as "file:line: cause remedy".</param>
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
