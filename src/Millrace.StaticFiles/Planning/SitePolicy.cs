using System.Text;

namespace Millrace.StaticFiles.Planning;

/// <summary>The options that guide planning, in the form the planner needs: paths as bytes.</summary>
internal sealed class SitePolicy
{
    private readonly byte[]?[] _errorPages = new byte[600][];
    private readonly byte[] _challenge;

    /// <param name="options">The options of the site.</param>
    /// <param name="challenge">The value of WWW-Authenticate; empty if no password is required.</param>
    public SitePolicy(SiteOptions options, ReadOnlySpan<byte> challenge)
    {
        _challenge = challenge.ToArray();
        CleanUrls = options.CleanUrls;
        Listing = options.Listing;
        MergeSlashes = options.MergeSlashes;
        Fallback = options.Fallback is string fallback ? Encoding.UTF8.GetBytes(fallback) : null;
        foreach ((int status, string path) in options.ErrorPages)
        {
            _errorPages[status] = Encoding.UTF8.GetBytes(path);
        }
    }

    /// <summary>Whether "/about" serves "/about.html", and "/about.html" redirects to "/about".</summary>
    public bool CleanUrls { get; }

    /// <summary>Whether repeated slashes count as one.</summary>
    public bool MergeSlashes { get; }

    /// <summary>Whether directories without an index are listed.</summary>
    public bool Listing { get; }

    /// <summary>The path of the page for client-side routes; null for none.</summary>
    public byte[]? Fallback { get; }

    /// <summary>The WWW-Authenticate field of a 401 (RFC 7617, sections 2 and 2.1).</summary>
    public ReadOnlySpan<byte> Challenge => _challenge;

    /// <summary>The path of the page for an error; empty for none.</summary>
    public ReadOnlySpan<byte> ErrorPage(int status) => _errorPages[status];
}
