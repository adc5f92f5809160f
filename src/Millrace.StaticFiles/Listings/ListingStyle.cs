using System.Security.Cryptography;
using System.Text;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// The style sheet of a listing, which is part of its page: nothing else is fetched, and it needs no file name of the site.
/// </summary>
internal static class ListingStyle
{
    /// <summary>Allows the page only its own style, by hash: markup that a file name might inject has no effect.</summary>
    public static readonly string ContentSecurityPolicy =
        $"default-src 'none'; style-src 'sha256-{Convert.ToBase64String(SHA256.HashData(Sheet))}'; base-uri 'none'; form-action 'none'";

    private static readonly byte[] PolicyBytes = Encoding.ASCII.GetBytes(ContentSecurityPolicy);

    /// <summary>The policy as bytes.</summary>
    public static ReadOnlySpan<byte> ContentSecurityPolicyBytes => PolicyBytes;

    /// <summary>
    /// On a narrow screen the time of day is hidden so that a line fits. White space in names is preserved, because names may differ by it.
    /// </summary>
    public static ReadOnlySpan<byte> Sheet => """
        :root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--dim:#59636e;--line:#d8dee4;--link:#0550ae;--row:#f3f6f9}
        @media(prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6e9ec;--dim:#98a3ae;--line:#2d353d;--link:#7ab7ff;--row:#1a2129}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 3rem;background:var(--page);color:var(--text);
        font:1rem/1.5 system-ui,sans-serif}
        a{color:var(--link);text-decoration:none}
        a:hover,a:focus-visible{text-decoration:underline}
        h1{margin:0 .75rem;font-size:1.25rem;font-weight:600;overflow-wrap:anywhere;white-space:pre-wrap}
        h1 a{padding:.25rem 0}
        p{margin:.25rem .75rem 1rem;color:var(--dim);font-size:.875rem}
        table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
        th,td{padding:.5rem .75rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;color:var(--dim)}
        th:first-child,td:first-child{width:100%;text-align:left;white-space:pre-wrap;overflow-wrap:anywhere}
        th{position:sticky;top:0;background:var(--page);font-size:.875rem;font-weight:600}
        th a{color:inherit}
        th[aria-sort=ascending] a::after{content:" \2191"}
        th[aria-sort=descending] a::after{content:" \2193"}
        td:first-child a{display:block}
        tbody tr:hover{background:var(--row)}
        @media(max-width:40rem){
        body{padding:1rem 0 2rem}
        h1,p{margin-left:.5rem;margin-right:.5rem}
        th,td{padding:.625rem .5rem}
        td{font-size:.875rem}
        td:first-child{font-size:1rem}
        time span{display:none}
        }
        """u8;
}
