using System.Globalization;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>A slow reader of Accept (RFC 9110 section 12.5.1): everything split by regular expressions, then a sort.</summary>
internal static partial class ReferenceAccept
{
    /// <summary>How precisely a type is listed and with which weight; None and 0 where it is not.</summary>
    public static (MediaPrecision Precision, int Weight) Find(string accept, string type, string subtype)
        => Split(accept, ',')
            .Select(element => Check(Split(element, ';'), type, subtype))
            .OfType<(MediaPrecision Precision, int Weight)>()
            .OrderByDescending(found => found.Precision)
            .ThenBy(found => found.Weight)
            .FirstOrDefault();

    private static (MediaPrecision Precision, int Weight)? Check(string[] parts, string type, string subtype)
    {
        string range = parts[0].ToLowerInvariant();
        MediaPrecision precision = range == "*/*" ? MediaPrecision.Any
            : range == $"{type}/*" ? MediaPrecision.Family
            : range == $"{type}/{subtype}" ? MediaPrecision.Named
            : MediaPrecision.None;
        string[] weights = [.. parts.Skip(1).Where(part => part.StartsWith("q=", StringComparison.OrdinalIgnoreCase))];
        string[] parameters = [.. parts.Skip(1).Except(weights).Where(part => part != "")];
        if (precision == MediaPrecision.None || !weights.All(weight => Weight().IsMatch(weight)))
        {
            return null;
        }

        decimal weight = weights.Length == 0 ? 1 : decimal.Parse(weights[^1][2..], NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture);
        return (precision == MediaPrecision.Named && parameters.Length > 0 ? MediaPrecision.NamedWithParameters : precision, (int)(weight * 1000));
    }

    // What is neither quoted nor a delimiter, or quoted to the closing quote or the end.
    private static string[] Split(string text, char delimiter)
        => [.. Regex.Matches(text, $@"\G((?:[^""{delimiter}]|""(?:\\.|[^""\\])*(?:""|\\?\z))*)(?:{delimiter}|\z)", RegexOptions.Singleline)
            .Where(match => match.Index < text.Length || text == "" || text[^1] == delimiter)
            .Select(match => match.Groups[1].Value.Trim(' ', '\t'))];

    [GeneratedRegex(@"\Aq=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)\z", RegexOptions.IgnoreCase)]
    private static partial Regex Weight();
}
