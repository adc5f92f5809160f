using System.Text;

namespace Millrace.StaticFiles.Pages;

/// <summary>
/// What the pages that the server generates have in common: their colors, light and dark, and a policy that allows each page nothing but
/// its own style and script, by hash. Markup that a file name might inject has no effect, and nothing is fetched.
/// </summary>
internal static class PageStyle
{
    /// <summary>All text has a contrast of at least 4.5 to 1 with each background (WCAG 2.2, success criterion 1.4.3).</summary>
    public const string Colors = """
        :root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--dim:#59636e;--line:#d8dee4;--link:#0550ae;--row:#f3f6f9}
        @media(prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6e9ec;--dim:#98a3ae;--line:#2d353d;--link:#7ab7ff;--row:#1a2129}}
        *{box-sizing:border-box}

        """;

    /// <summary>The start of a page, up to the text of its title.</summary>
    public static ReadOnlySpan<byte> Start => """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>
        """u8;

    public static byte[] HtmlType { get; } = "text/html; charset=utf-8"u8.ToArray();

    /// <summary>
    /// The Content-Security-Policy of a page with one style and one script, by their SHA-256 hashes in Base64; null for no script. The
    /// hashes are written down, and tests compare them with the texts: computing them would load OpenSSL, which may be missing.
    /// </summary>
    public static byte[] PolicyOf(string style, string? script)
    {
        string scripts = script is null ? "" : $"script-src 'sha256-{script}'; ";
        return Encoding.ASCII.GetBytes(
            $"default-src 'none'; style-src 'sha256-{style}'; {scripts}base-uri 'none'; form-action 'none'");
    }
}
