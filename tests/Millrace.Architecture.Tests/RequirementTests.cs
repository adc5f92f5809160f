using System.Text.RegularExpressions;
using Millrace.DocGenerator.Requirements;

namespace Millrace.Architecture.Tests;

/// <summary>The lists of what the RFCs of QUIC and HTTP/3 require: each line is held by tests that exist, or says why by none.</summary>
public partial class RequirementTests
{
    private const int WordsMax = 25;

    private static readonly string[] Rfcs = ["9000", "9001", "9002", "9114", "9204"];

    [Fact]
    public void Each_requirement_is_short_and_names_tests_or_a_reason()
    {
        var lists = Requirement.ReadAll(Repository.Root);
        Assert.Equal(Rfcs, lists.Select(static list => list.Rfc));
        foreach ((string rfc, IReadOnlyList<Requirement> all) in lists)
        {
            Assert.All(all, one =>
            {
                Assert.Matches(@"^\d+(\.\d+)*$", one.Section);
                Assert.True(one.Text.Split(' ').Length <= WordsMax, $"RFC {rfc}: {one.Text}");
                Assert.DoesNotContain('|', one.Text + one.Holder);
                bool isReason = one.IsNotApplicable || one.IsOpen;
                Assert.True(isReason ? one.Holder.Split(' ').Length > 1 : one.Tests.Count > 0, $"RFC {rfc}, {one.Section}: {one.Text}");
            });
            Assert.Equal(all.Count, all.Distinct().Count());
        }
    }

    [Fact]
    public void Each_test_that_holds_a_requirement_exists()
    {
        HashSet<string> tests = [.. Repository.SourcesUnder("tests/").SelectMany(TestsOf)];
        Assert.Contains("RequirementTests.Each_test_that_holds_a_requirement_exists", tests);
        string[] missing =
        [
            .. Requirement.ReadAll(Repository.Root)
                .SelectMany(static list => list.Requirements.SelectMany(static one => one.Tests))
                .Distinct()
                .Where(test => !tests.Contains(test)),
        ];
        Assert.True(missing.Length == 0, string.Join('\n', missing));
    }

    [Fact]
    public void The_page_is_that_of_the_lists() => Assert.True(
        File.ReadAllText(Path.Combine(Repository.Root, RequirementsPage.Path)) == RequirementsPage.Of(Repository.Root),
        $"{RequirementsPage.Path} is old: dotnet run --project tools/Millrace.DocGenerator");

    /// <summary>Methods behind [Fact] or [Theory], after the class that has them.</summary>
    private static IEnumerable<string> TestsOf(SourceFile file)
    {
        string type = "";
        foreach (Match match in Declaration().Matches(file.Text))
        {
            if (match.Groups["type"].Success)
            {
                type = match.Groups["type"].Value;
            }
            else
            {
                yield return $"{type}.{match.Groups["method"].Value}";
            }
        }
    }

    [GeneratedRegex(
        @"^(?:public |internal )(?:\w+ )*class (?<type>\w+)|\[(?:Fact|Theory)\b(?:(?!\[(?:Fact|Theory)\b)[\s\S])*?\n    (?:public|internal) [\w<>? ]*?(?<method>\w+)\(",
        RegexOptions.Multiline)]
    private static partial Regex Declaration();
}
