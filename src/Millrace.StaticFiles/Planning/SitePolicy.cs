using System.Text;

namespace Millrace.StaticFiles.Planning;

/// <summary>What the options say about finding an answer, in the form the planner needs: paths as bytes.</summary>
internal sealed class SitePolicy
{
    private readonly byte[]?[] _errorPages = new byte[600][];
    private readonly byte[]? _challenge;

    public SitePolicy(SiteOptions options)
    {
        CleanUrls = options.CleanUrls;
        Listing = options.Listing;
        Fallback = options.Fallback is string fallback ? Encoding.UTF8.GetBytes(fallback) : null;
        _challenge = options.PasswordFile is null
            ? null
            : Encoding.UTF8.GetBytes($"Basic realm=\"{Quoted(options.Realm)}\", charset=\"UTF-8\"");

        foreach ((int status, string path) in options.ErrorPages)
        {
            _errorPages[status] = Encoding.UTF8.GetBytes(path);
        }
    }

    /// <summary>Whether "/about" is answered by "/about.html", and the latter leads to the former.</summary>
    public bool CleanUrls { get; }

    /// <summary>Whether directories without an index are listed.</summary>
    public bool Listing { get; }

    /// <summary>The path of what answers for pages that a client-side router knows; null for none.</summary>
    public byte[]? Fallback { get; }

    /// <summary>The WWW-Authenticate field of a 401 (RFC 7617, sections 2 and 2.1).</summary>
    public ReadOnlySpan<byte> Challenge => _challenge;

    /// <summary>The path of the page for an error; empty for none.</summary>
    public ReadOnlySpan<byte> ErrorPage(int status) => _errorPages[status];

    private static string Quoted(string text) =>
        text.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal);
}
