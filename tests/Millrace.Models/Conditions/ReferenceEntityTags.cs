using System.Text.RegularExpressions;

namespace Millrace.Models;

/// <summary>Lists of entity-tags (RFC 9110 sections 8.8.3 and 5.6.1) by one regular expression.</summary>
internal static partial class ReferenceEntityTags
{
    /// <summary>The tags, or null where anything in the list is none.</summary>
    public static List<string>? Read(string list)
        => List().Match(list) is { Success: true } match ? [.. match.Groups["tag"].Captures.Select(tag => tag.Value)] : null;

    public static bool IsTag(string text) => Tag().IsMatch(text);

    public static bool AreEqual(string left, string right, bool isStrong)
        => left != "" && (isStrong ? left == right && !left.StartsWith("W/", StringComparison.Ordinal) : Opaque(left) == Opaque(right));

    private static string Opaque(string tag) => tag.StartsWith("W/", StringComparison.Ordinal) ? tag[2..] : tag;

    [GeneratedRegex("""\A[, \t]*((?<tag>(W/)?"[\x21\x23-\x7E\x80-\xFF]*")[ \t]*(,[, \t]*|\z))*\z""")]
    private static partial Regex List();

    [GeneratedRegex("""\A(W/)?"[\x21\x23-\x7E\x80-\xFF]*"\z""")]
    private static partial Regex Tag();
}
