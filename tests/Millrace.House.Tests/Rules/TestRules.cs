using System.Text.RegularExpressions;

namespace Millrace.House.Tests.Rules;

/// <summary>A test is called by the sentence it proves: <c>A_bare_lf_is_refused</c>.</summary>
internal static partial class TestRules
{
    public static IEnumerable<Finding> Names(SourceFile file) =>
        from test in Tests(file)
        where !IsSentence(test.Name)
        select file.At(test.Position, $"{test.Name} is not a Sentence_with_underscores");

    /// <summary>A file of tests without one would look like coverage.</summary>
    public static IEnumerable<Finding> Empty(SourceFile file) =>
        file.Path.EndsWith("Tests.cs", StringComparison.Ordinal) && !Tests(file).Any() ? [file.At(0, "no test is in this file")] : [];

    /// <summary>The tests of a file as <c>ClassTests.A_sentence</c>; a class within another goes by its own name.</summary>
    public static IEnumerable<string> QualifiedNames(SourceFile file) =>
        from test in Tests(file)
        let owner = Class().Matches(file.Code[..test.Position])
        where owner.Count > 0
        select $"{owner[^1].Groups["name"].Value}.{test.Name}";

    /// <summary>Two words or more, the first capitalized and not all of them.</summary>
    public static bool IsSentence(string name) =>
        name.Split('_') is [var first, .. { Length: > 0 } rest]
        && first.Length > 0 && char.IsUpper(first[0])
        && rest.All(word => word.Length > 0)
        && rest.Any(word => char.IsLower(word[0]));

    private static IEnumerable<(string Name, int Position)> Tests(SourceFile file)
    {
        foreach (Match attribute in Attribute().Matches(file.Code))
        {
            Match method = Method().Match(file.Code, attribute.Index);
            if (method.Success)
            {
                yield return (method.Groups["name"].Value, method.Groups["name"].Index);
            }
        }
    }

    [GeneratedRegex(@"\bclass\s+(?<name>\w+)")]
    private static partial Regex Class();

    [GeneratedRegex(@"\[\s*(?:\w+\s*,\s*)?(?:Fact|Theory|Property)\b")]
    private static partial Regex Attribute();

    [GeneratedRegex(@"\b(?:public|internal|private|protected)\b(?:\s+(?:async|static|virtual|override|abstract|unsafe|sealed))*\s+[\w<>\[\]?.]+\s+(?<name>\w+)\s*(?:<\w+>\s*)?\(")]
    private static partial Regex Method();
}
