using System.Globalization;
using System.Text;

namespace Millrace.DocGenerator.Manual;

/// <summary>
/// Writes a page in the macros of man(7). Texts are plain, but that what stands between backquotes is bold; nothing in them is taken for
/// a request of roff.
/// </summary>
internal sealed class RoffWriter
{
    /// <summary>Tools complain of longer lines of source.</summary>
    private const int ColumnsMax = 76;

    private readonly StringBuilder _page = new();

    public override string ToString() => _page.ToString();

    public void Line(string request) => _page.Append(request).Append('\n');

    public void Section(string title) => Line($".SH {title.ToUpperInvariant()}");

    public void Subsection(string title) => Line($".SS {Escaped(title)}");

    /// <summary>Behind another; the first of a section has none.</summary>
    public void Paragraph(string text)
    {
        Line(".PP");
        Text(text);
    }

    /// <summary>What a list explains, with fonts, and its explanation.</summary>
    public void Item(string marked, string text)
    {
        Line(".TP");
        Line(marked);
        Text(text);
    }

    /// <summary>Lines as they are, set off from the text.</summary>
    public void Example(string text)
    {
        Line(".PP");
        Line(".nf");
        Line(".in +4n");
        Lines(text);
        Line(".in");
        Line(".fi");
    }

    public void Lines(string text)
    {
        foreach (string line in text.TrimEnd('\n').Split('\n'))
        {
            Line(Guarded(Escaped(line)));
        }
    }

    public void Text(string text)
    {
        var line = new StringBuilder();
        foreach (string word in Marked(text).Split((char[])[' ', '\n'], StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.Length > 0 && line.Length + 1 + word.Length > ColumnsMax)
            {
                Line(Guarded(line.ToString()) + SpaceAfter(line));
                line.Clear();
            }

            line.Append(line.Length > 0 ? " " : "").Append(word);
        }

        Line(Guarded(line.ToString()));
    }

    public static string Bold(string text) => $"\\fB{Escaped(text)}\\fR";

    public static string Italic(string text) => $"\\fI{Escaped(text)}\\fR";

    /// <summary>Characters that roff would take for something else, or show as a typographer would.</summary>
    public static string Escaped(string text)
    {
        var escaped = new StringBuilder();
        foreach (Rune character in text.EnumerateRunes())
        {
            _ = character.Value switch
            {
                '\\' => escaped.Append(@"\e"),
                '-' => escaped.Append(@"\-"),
                '\'' => escaped.Append(@"\(aq"),
                '"' => escaped.Append(@"\(dq"),
                '`' => escaped.Append(@"\(ga"),
                '^' => escaped.Append(@"\(ha"),
                '~' => escaped.Append(@"\(ti"),
                > 0x7F => escaped.Append(CultureInfo.InvariantCulture, $@"\[u{character.Value:X4}]"),
                _ => escaped.Append(character.ToString()),
            };
        }

        return escaped.ToString();
    }

    /// <summary>A dot that begins a line begins a request.</summary>
    private static string Guarded(string line) => line.StartsWith('.') ? @"\&" + line : line;

    /// <summary>A sentence that ends with its line would be followed by two spaces, and others by one.</summary>
    private static string SpaceAfter(StringBuilder line) => char.IsAsciiLetterOrDigit(line[^1]) ? "" : @"\&";

    private static string Marked(string text)
    {
        string[] parts = text.Split('`');
        return string.Concat(parts.Select(static (part, index) => index % 2 == 0 ? Escaped(part) : Bold(part)));
    }
}
