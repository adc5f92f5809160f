using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>What is committed works on every machine: it names no folder of one, and no package registry.</summary>
internal static partial class TraceRules
{
    public static IEnumerable<Finding> MachinePaths(SourceFile file) =>
        MachinePath().Matches(file.Text).Select(match => file.At(match.Index, $"{match.Value} is a path of one machine"));

    public static IEnumerable<Finding> Registries(SourceFile file) =>
        Registry().Matches(file.Text).Select(match => file.At(match.Index, $"{match.Value} is a package registry"));

    // Not after a character that makes it the tail of a longer path or of a URL.
    [GeneratedRegex(@"(?<![\w.~/}\-])/(?:(?:work|root)(?![\w\-])|(?:home|tmp)/[\w.$][\w.\-]*)")]
    private static partial Regex MachinePath();

    [GeneratedRegex(
        @"\b(?:[\w\-]+\.)*(?:nuget\.org|npmjs\.(?:org|com)|pypi\.org|pythonhosted\.org|pkgs\.dev\.azure\.com|jfrog\.io|proxy\.golang\.org)"
        + @"|\b[\w\-]*(?:artifactory|nexus|registry|mirror)[\w\-]*\.[\w\-]+\.(?:com|org|net|io|internal|local)\b",
        RegexOptions.IgnoreCase)]
    private static partial Regex Registry();
}
