using System.Globalization;
using System.Text;

namespace Millrace.Acme.Protocol;

/// <summary>Words of a server for logs and terminals. Stateless.</summary>
internal static class AcmeText
{
    private const int LengthMax = 1000;
    private const int TokenLengthMax = 1024;

    /// <summary>On one line, without what a terminal would obey, and not endless.</summary>
    public static string Clean(string text)
    {
        var clean = new StringBuilder(Math.Min(text.Length, LengthMax));
        foreach (Rune rune in text.EnumerateRunes())
        {
            if (clean.Length >= LengthMax)
            {
                return clean.Append('…').ToString();
            }

            clean.Append(IsShown(rune) ? rune.ToString() : " ");
        }

        return clean.ToString();
    }

    /// <summary>A length of time, rounded up, such as <c>90 s</c> or <c>26 h</c>.</summary>
    public static string Describe(TimeSpan time) => time.TotalSeconds switch
    {
        <= 120 => $"{Math.Ceiling(time.TotalSeconds):0} s",
        <= 7200 => $"{Math.Ceiling(time.TotalMinutes):0} min",
        _ => $"{Math.Ceiling(time.TotalHours):0} h",
    };

    /// <summary>Whether it has the characters of Base64Url only. Servers do not always care what they encode.</summary>
    public static bool IsBase64Url(string text) =>
        text.Length is > 0 and <= TokenLengthMax && text.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_');

    private static bool IsShown(Rune rune) => Rune.GetUnicodeCategory(rune) is not (
        UnicodeCategory.Control or UnicodeCategory.Format
        or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator);
}
