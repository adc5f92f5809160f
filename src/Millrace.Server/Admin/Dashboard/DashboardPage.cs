using System.Security.Cryptography;
using System.Text;

namespace Millrace.Server.Admin.Dashboard;

/// <summary>
/// The live page: one embedded file with its style and script. The content security policy lists their hashes, so that no other code runs
/// and no other host is contacted.
/// </summary>
internal static class DashboardPage
{
    private static AdminResponse? Cached;

    /// <summary>Read on first use.</summary>
    public static AdminResponse Response => Cached ??= Make();

    private static AdminResponse Make()
    {
        string page = EmbeddedText.Read("dashboard.html");
        string policy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            + $"frame-ancestors 'none'; style-src {HashOf(page, "style")}; script-src {HashOf(page, "script")}; "
            + "require-trusted-types-for 'script'";
        byte[] fields = Encoding.ASCII.GetBytes($"Content-Security-Policy: {policy}\r\nReferrer-Policy: no-referrer\r\n");
        return new AdminResponse(200, "text/html; charset=utf-8", Encoding.UTF8.GetBytes(page), fields);
    }

    /// <summary>The hash of the only element of this name, in policy form (CSP Level 3, section 2.3.1).</summary>
    private static string HashOf(string page, string element)
    {
        int start = page.IndexOf($"<{element}>", StringComparison.Ordinal) + element.Length + 2;
        int end = page.IndexOf($"</{element}>", StringComparison.Ordinal);
        return $"'sha256-{Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(page[start..end])))}'";
    }
}
