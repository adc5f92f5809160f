using System.Security.Cryptography;
using System.Text;

namespace Millrace.Server.Admin.Dashboard;

/// <summary>
/// The live page: one file, embedded, with its style and its script in it. The policy names their hashes, so that nothing else runs in it,
/// and that it asks nobody else for anything.
/// </summary>
internal static class DashboardPage
{
    private const string Resource = "dashboard.html";

    private static AdminAnswer? Made;

    /// <summary>Read when first asked for.</summary>
    public static AdminAnswer Answer => Made ??= Make();

    private static AdminAnswer Make()
    {
        using Stream stream = typeof(DashboardPage).Assembly.GetManifestResourceStream(Resource)
            ?? throw new InvalidOperationException($"{Resource} is not embedded.");
        using var reader = new StreamReader(stream);
        string page = reader.ReadToEnd();
        string policy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            + $"frame-ancestors 'none'; style-src {HashOf(page, "style")}; script-src {HashOf(page, "script")}; "
            + "require-trusted-types-for 'script'";
        byte[] fields = Encoding.ASCII.GetBytes($"Content-Security-Policy: {policy}\r\nReferrer-Policy: no-referrer\r\n");
        return new AdminAnswer(200, "text/html; charset=utf-8", Encoding.UTF8.GetBytes(page), fields);
    }

    /// <summary>The hash of the only element of this name, as a policy has it (CSP Level 3, section 2.3.1).</summary>
    private static string HashOf(string page, string element)
    {
        int start = page.IndexOf($"<{element}>", StringComparison.Ordinal) + element.Length + 2;
        int end = page.IndexOf($"</{element}>", StringComparison.Ordinal);
        return $"'sha256-{Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(page[start..end])))}'";
    }
}
