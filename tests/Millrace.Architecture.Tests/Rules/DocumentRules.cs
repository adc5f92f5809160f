using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>What documents point at exists: linked files, headings, and paths written as code.</summary>
internal static partial class DocumentRules
{
    /// <summary>Relative links; <paramref name="read"/> gives the text of a path in the repository, "" for a folder, null for nothing.</summary>
    public static IEnumerable<Finding> Links(SourceFile document, Func<string, string?> read)
    {
        foreach (Match match in Link().Matches(WithoutCode(document.Text)))
        {
            string target = match.Groups["target"].Value;
            if (Scheme().IsMatch(target))
            {
                continue;
            }

            string[] parts = target.Split('#', 2);
            string path = parts[0].Length == 0 ? document.Path : Resolve(document.Path, Uri.UnescapeDataString(parts[0]));
            string? text = read(path);
            if (text is null)
            {
                yield return document.At(match.Index, $"the link {target} leads nowhere");
            }
            else if (parts.Length == 2 && path.EndsWith(".md", StringComparison.Ordinal) && !Anchors(text).Contains(parts[1]))
            {
                yield return document.At(match.Index, $"the link {target} names no heading");
            }
        }
    }

    /// <summary>Code spans that look like a path of this repository. NNNN, * and braces make a pattern, not a path.</summary>
    public static IEnumerable<Finding> Paths(SourceFile document, Func<string, string?> read) =>
        from match in CodePath().Matches(document.Text)
        let path = match.Groups["path"].Value
        where !path.Contains("NNNN", StringComparison.Ordinal) && read(path.TrimEnd('/')) is null
        select document.At(match.Index, $"the path {path} does not exist");

    private static string Resolve(string document, string target)
    {
        string folder = target.StartsWith('/') ? "/" : "/" + Path.GetDirectoryName(document);
        return Path.GetFullPath(target.TrimStart('/'), folder).TrimStart('/').TrimEnd('/');
    }

    /// <summary>Headings as the usual renderers name them: lower case, punctuation dropped, spaces to hyphens.</summary>
    private static HashSet<string> Anchors(string text) =>
        Heading().Matches(WithoutFences(text))
            .Select(match => Punctuation().Replace(match.Groups["title"].Value.Trim().ToLowerInvariant(), "").Replace(' ', '-'))
            .ToHashSet(StringComparer.Ordinal);

    private static string WithoutFences(string text) => Fence().Replace(text, Blank);

    private static string WithoutCode(string text) => CodeSpan().Replace(WithoutFences(text), Blank);

    private static string Blank(Match match) => string.Concat(match.Value.Select(character => character == '\n' ? '\n' : ' '));

    [GeneratedRegex(@"\]\(<?(?<target>[^)\s>]+)>?(?:\s+""[^""]*"")?\)|^\[[^\]]+\]:\s+(?<target>\S+)", RegexOptions.Multiline)]
    private static partial Regex Link();

    [GeneratedRegex(@"^(?:[a-z][a-z0-9+.\-]*:|//)", RegexOptions.IgnoreCase)]
    private static partial Regex Scheme();

    [GeneratedRegex(@"`(?<path>(?:src|tools|tests|docs|samples|bench|benchmarks|packaging|\.ci)/[\w./\-]+)(?::\d+)?`")]
    private static partial Regex CodePath();

    [GeneratedRegex(@"^(```|~~~).*?^\1", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Fence();

    [GeneratedRegex(@"`[^`\n]*`")]
    private static partial Regex CodeSpan();

    [GeneratedRegex(@"^#{1,6}\s+(?<title>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    [GeneratedRegex(@"[^\w\- ]")]
    private static partial Regex Punctuation();
}
