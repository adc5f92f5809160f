using System.Diagnostics.CodeAnalysis;
using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>The host of an absolute URL in a configuration. Any thread.</summary>
internal static class UrlHost
{
    /// <summary>
    /// Replaces an international host of the URL by its A-labels and leaves the other parts unchanged. False if the host has none; the
    /// result is then the text itself, and the problem a clause that gives the reason.
    /// </summary>
    public static bool TryEncode(string text, out string encoded, [NotNullWhen(false)] out string? problem)
    {
        encoded = text;
        problem = null;
        int start = text.IndexOf("://", StringComparison.Ordinal) + 3;
        if (start < 3)
        {
            return true;
        }

        int length = text.AsSpan(start).IndexOfAny("/?#:");
        int end = length < 0 ? text.Length : start + length;
        if (Ascii.IsValid(text.AsSpan(start, end - start)))
        {
            return true;
        }

        if (!DomainName.TryEncode(text[start..end], out string? host, out problem))
        {
            return false;
        }

        encoded = string.Concat(text.AsSpan(0, start), host, text.AsSpan(end));
        return true;
    }
}
