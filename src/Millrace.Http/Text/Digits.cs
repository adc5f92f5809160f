using System.Buffers.Text;

namespace Millrace.Http;

/// <summary>Reads numbers as HTTP writes them: any number of decimal digits, and nothing else.</summary>
internal static class Digits
{
    public static bool TryParse(ReadOnlySpan<byte> text, out long value)
    {
        bool isNumber = Utf8Parser.TryParse(text, out ulong number, out int read) && read == text.Length && number <= long.MaxValue;
        value = isNumber ? (long)number : 0;
        return isNumber;
    }
}

/// <summary>Text of a fixed length with digits at fixed places.</summary>
internal static class DigitPattern
{
    /// <summary>Whether the text has a digit for each '0' of a pattern, any byte for each '#', and otherwise the same bytes.</summary>
    public static bool IsMatch(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern) =>
        text.Length == pattern.Length && PrefixLength(text, pattern) == text.Length;

    /// <summary>How many bytes at the start of the text, which may end early, are as the pattern demands.</summary>
    public static int PrefixLength(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern)
    {
        int at = 0;
        while (at < text.Length && at < pattern.Length
            && (text[at] == pattern[at] || pattern[at] == '#' || (pattern[at] == '0' && char.IsAsciiDigit((char)text[at]))))
        {
            at++;
        }

        return at;
    }
}
