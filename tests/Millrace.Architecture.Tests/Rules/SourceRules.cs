using System.Text.RegularExpressions;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>What no analyzer knows about C#. The text is searched, not parsed.</summary>
internal static partial class SourceRules
{
    public const int FileLinesMax = 500;
    public const int LineColumnsMax = 140;

    /// <summary>A file is one idea (most are under 300 lines), and a line fits a screen.</summary>
    public static IEnumerable<Finding> Sizes(SourceFile file) =>
        from line in file.Lines.Index()
        where line.Item.Length > LineColumnsMax || (line.Index == FileLinesMax && line.Item.Length > 0)
        select new Finding(file.Path, line.Index + 1, $"more than {LineColumnsMax} columns in a line, or {FileLinesMax} lines in a file");

    /// <summary>A warning is silenced with a reason: a comment beside or above it, or a justification.</summary>
    public static IEnumerable<Finding> Suppressions(SourceFile file) =>
        Suppression().Matches(file.Text).Select(match => file.At(match.Index, "a warning is silenced without a reason"));

    /// <summary>A catch that does nothing says why.</summary>
    public static IEnumerable<Finding> EmptyCatches(SourceFile file) =>
        EmptyCatch().Matches(file.Text).Select(match => file.At(match.Index, "an empty catch without a reason in a comment"));

    /// <summary>A test that lets real time pass, 200 ms or more in one go, says above why a scripted clock would not do.</summary>
    public static IEnumerable<Finding> Sleeps(SourceFile file) =>
        Sleep().Matches(file.Text).Select(match => file.At(match.Index, "a test sleeps without a comment '// Sleeps: why.' above"));

    [GeneratedRegex(
        """
        (?<!^[ ]*//[ ][^\n]*\n)^[ ]*\#pragma[ ]warning[ ]disable[^/\n]*$
        | ^[ ]*\[(?:assembly:[ ])?(?:Unconditional)?SuppressMessage\((?![^]]*Justification[ ]=[ ]"[^"]{10})
        """,
        RegexOptions.Multiline | RegexOptions.IgnorePatternWhitespace)]
    private static partial Regex Suppression();

    [GeneratedRegex(
        """
        (?<!^[ ]*//[ ]Sleeps:[ ][^\n]{10,}\n)
        ^[ ]*(?:await[ ]Task\.Delay|Thread\.Sleep)\((?:[2-9]\d\d|\d_?\d{3}|\d{2,}_?\d{3}|TimeSpan\.FromSeconds\(|TimeSpan\.FromMinutes\()[^\n]*$
        """,
        RegexOptions.Multiline | RegexOptions.IgnorePatternWhitespace)]
    private static partial Regex Sleep();

    [GeneratedRegex(@"\bcatch\b[^{};]*\{\s*\}")]
    private static partial Regex EmptyCatch();
}
