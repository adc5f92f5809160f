using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Models;

/// <summary>A slow decoder of a whole chunked body: regular expressions for the lines, strings for the rest.</summary>
internal static class ReferenceChunked
{
    private const string Token = @"[!#$%&'*+\-.^_`|~0-9A-Za-z]+";
    private const string Quoted = "\"([\\t \\x21\\x23-\\x5B\\x5D-\\x7E\\x80-\\xFF]|\\\\[\\t\\x20-\\x7E\\x80-\\xFF])*\"";
    private const string Extensions = $@"([ \t]*;[ \t]*{Token}([ \t]*=[ \t]*({Token}|{Quoted}))?)*";
    private static readonly Regex SizeLine = new($@"\G(?<size>[0-9A-Fa-f]{{1,16}}){Extensions}\r\n");
    private static readonly Regex TrailerLine = new($@"\G{Token}:[\t\x20-\x7E\x80-\xFF]*\r\n");

    /// <summary>The data, the trailers' lines and what was consumed of a body that is whole and valid, else null.</summary>
    public static (string Data, string Trailers, int Consumed)? Decode(string text)
    {
        var data = new StringBuilder();
        int at = 0;
        while (true)
        {
            Match line = SizeLine.Match(text, at);
            string digits = line.Groups["size"].Value;
            if (!long.TryParse(digits, NumberStyles.HexNumber, CultureInfo.InvariantCulture, out long size) || size < 0)
            {
                return null;
            }

            at += line.Length;
            if (size == 0)
            {
                break;
            }

            if (size > text.Length - at - 2 || text.Substring(at + (int)size, 2) != "\r\n")
            {
                return null;
            }

            data.Append(text, at, (int)size);
            at += (int)size + 2;
        }

        int trailers = at;
        while (TrailerLine.Match(text, at) is { Success: true } trailer)
        {
            at += trailer.Length;
        }

        return text.AsSpan(at).StartsWith("\r\n") ? (data.ToString(), text[trailers..at], at + 2) : null;
    }
}
