using System.Globalization;
using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>Architecture decision records are numbered from 0000 (the template) without gaps, and each says where it stands.</summary>
internal static partial class DecisionRules
{
    public const string Folder = "docs/adr/";

    public static IEnumerable<Finding> Numbers(IEnumerable<string> paths)
    {
        int next = 0;
        foreach (string path in paths.Order(StringComparer.Ordinal))
        {
            Match name = Name().Match(path);
            if (!name.Success)
            {
                yield return new Finding(path, 1, "a decision is called NNNN-title-in-lower-case.md");
            }
            else if (int.Parse(name.Groups["number"].Value, CultureInfo.InvariantCulture) != next)
            {
                yield return new Finding(path, 1, $"number {next:0000} comes next: numbers have no gaps and no twins");
            }

            next++;
        }
    }

    public static IEnumerable<Finding> Status(SourceFile decision) =>
        StatusLine().IsMatch(decision.Text) ? [] : [decision.At(0, "no line \"Status: proposed, accepted, rejected or superseded by NNNN\"")];

    [GeneratedRegex(@"^docs/adr/(?<number>\d{4})-[a-z0-9][a-z0-9.\-]*\.md$")]
    private static partial Regex Name();

    // As a line, in bold, or as a heading with the word below it.
    [GeneratedRegex(@"^\W*Status\W+(proposed|accepted|rejected|superseded by\W+\d{4})\b", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex StatusLine();
}
