using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>The document of security promises something only where it names a test that holds it, and the test exists.</summary>
internal static partial class SecurityRules
{
    /// <summary>Tests a document names as <c>ClassTests.A_sentence</c> that no file of tests holds.</summary>
    public static IEnumerable<Finding> Missing(SourceFile document, IEnumerable<SourceFile> tests)
    {
        HashSet<string> known = [.. tests.SelectMany(TestsOf)];
        return from match in TestName().Matches(document.Text)
               where !known.Contains(match.Groups["test"].Value)
               select document.At(match.Index, $"there is no test {match.Groups["test"].Value}");
    }

    /// <summary>Promises, rows of its tables, that name no test.</summary>
    public static IEnumerable<Finding> Unheld(SourceFile document) =>
        from line in document.Lines.Index()
        where Row().IsMatch(line.Item) && !TestName().IsMatch(line.Item)
        select new Finding(document.Path, line.Index + 1, "a promise names no test that holds it");

    /// <summary>A class within another goes by its own name.</summary>
    private static IEnumerable<string> TestsOf(SourceFile file)
    {
        string owner = "";
        foreach (Match declaration in Declaration().Matches(file.Text))
        {
            if (declaration.Groups["class"].Success)
            {
                owner = declaration.Groups["class"].Value;
            }
            else
            {
                yield return $"{owner}.{declaration.Groups["test"].Value}";
            }
        }
    }

    [GeneratedRegex(@"^ *(?:\w+ )+class (?<class>\w+)|^ +public [^(=\n]*?(?<test>\w+)(?:<\w+>)?\(", RegexOptions.Multiline)]
    private static partial Regex Declaration();

    [GeneratedRegex(@"`(?<test>\w+Tests\.\w+)`")]
    private static partial Regex TestName();

    // A row of a table whose first cell says something; not the line below its heading, and not the heading.
    [GeneratedRegex(@"^\| (?!Promise)[^|\-]")]
    private static partial Regex Row();
}
