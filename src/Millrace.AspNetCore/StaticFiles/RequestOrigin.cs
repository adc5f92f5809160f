using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Checks the host and scheme of a request that a site serves: the server accepts more hosts, and schemes that its connection does not
/// have.
/// </summary>
internal static class RequestOrigin
{
    /// <summary>The outcome for a request with a wrong host or scheme; null for all others.</summary>
    public static SiteOutcome? Check(HttpRequest request, RequestText text) =>
        !UriHost.IsValidHostField(text.Add(request.Headers.Host)) ? SiteOutcome.BadHost
        : AsksForHttps(request) && !request.IsHttps ? SiteOutcome.Misdirected
        : null;

    /// <summary>
    /// Whether the target has the https scheme (RFC 9110 section 7.4). The request's own scheme includes what a trusted proxy has
    /// forwarded.
    /// </summary>
    private static bool AsksForHttps(HttpRequest request)
    {
        string target = request.HttpContext.Features.Get<IHttpRequestFeature>()?.RawTarget ?? "";
        return target.StartsWith("https://", StringComparison.OrdinalIgnoreCase);
    }
}
