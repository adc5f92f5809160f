using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Has a service decide on requests for some paths: it gets the request's head, and a response of 2xx lets the request pass. Immutable.
/// </summary>
/// <param name="Pattern">The paths.</param>
/// <param name="Url">The service's URL, with its path; null for paths that need no service.</param>
internal sealed record ForwardAuthRule(string Pattern, string? Url)
{
    /// <summary>Parses <c>GLOB=URL</c>, a URL for all paths, or <c>GLOB=off</c>. Throws <see cref="SiteException"/>.</summary>
    public static ForwardAuthRule Parse(string text)
    {
        // A URL may have '=' in its query, but a pattern no "://".
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        bool hasPattern = equals > 0 && text[0] is '/' or '*';
        string pattern = hasPattern ? text[..equals].Trim() : "*";
        string url = hasPattern ? text[(equals + 1)..].Trim() : text;
        if (url == "off")
        {
            return new ForwardAuthRule(pattern, null);
        }

        ProxyTarget target = ProxyTarget.Parse(url, out string? path);
        path = path is null ? "/" : path[0] == '/' ? path : "/" + path;
        return path.Contains('#', StringComparison.Ordinal) || path.AsSpan().ContainsAnyExceptInRange('!', '~')
            ? throw new SiteException(
                $"The service '{FieldValidation.Shown(url)}' has no valid path.",
                "Write its URL without a fragment, such as http://auth/verify.")
            : new ForwardAuthRule(pattern, url) { Target = target.ToString(), TargetPath = path };
    }

    /// <summary>The service's place, as <see cref="ProxyTarget"/> writes it; empty without a URL.</summary>
    public string Target { get; init; } = "";

    /// <summary>The path and query of the URL.</summary>
    public string TargetPath { get; init; } = "/";
}
