using System.Text.RegularExpressions;

namespace Millrace.House.Tests.Rules;

/// <summary>Rules about what a comment must say, or must not.</summary>
internal static partial class CommentRules
{
    /// <summary>Unfinished work is finished or written down elsewhere, not marked in the code.</summary>
    public static IEnumerable<Finding> Markers(SourceFile file) =>
        Marker().Matches(file.Text).Select(match => file.At(match.Index, $"{match.Value}: finish it, or leave it out"));

    /// <summary>A warning is silenced with a reason: a comment beside or above it, or a justification.</summary>
    public static IEnumerable<Finding> Suppressions(SourceFile file)
    {
        foreach (Match match in Suppression().Matches(file.Code))
        {
            Finding finding = file.At(match.Index, $"{match.Value} without a reason in a comment");
            if (!HasComment(file, finding.Line) && !Justification().IsMatch(StatementAt(file, match.Index)))
            {
                yield return finding;
            }
        }
    }

    /// <summary>A catch that does nothing says why nothing is right.</summary>
    public static IEnumerable<Finding> EmptyCatches(SourceFile file)
    {
        foreach (Match match in EmptyCatch().Matches(file.Code))
        {
            if (string.IsNullOrWhiteSpace(file.Comments.Substring(match.Index, match.Length)))
            {
                yield return file.At(match.Index, "empty catch without a reason in a comment");
            }
        }
    }

    private static bool HasComment(SourceFile file, int line)
    {
        string[] comments = file.Comments.Split('\n');
        return !string.IsNullOrWhiteSpace(comments[line - 1])
            || (line > 1 && !string.IsNullOrWhiteSpace(comments[line - 2]) && !comments[line - 2].Contains("///", StringComparison.Ordinal));
    }

    private static string StatementAt(SourceFile file, int position)
    {
        int end = file.Code.IndexOf(")]", position, StringComparison.Ordinal);
        return end < 0 ? "" : file.Text[position..end];
    }

    [GeneratedRegex(@"\b(TODO|HACK|FIXME|XXX)\b")]
    private static partial Regex Marker();

    [GeneratedRegex(@"#pragma\s+warning\s+disable|\b(Unconditional)?SuppressMessage(Attribute)?\b(?=\s*\()")]
    private static partial Regex Suppression();

    [GeneratedRegex("""\bJustification\s*=\s*"[^"]{10,}""")]
    private static partial Regex Justification();

    [GeneratedRegex(@"\bcatch\s*(\([^)]*\)\s*)?(when\s*\([^{]*\)\s*)?\{\s*\}")]
    private static partial Regex EmptyCatch();
}
