using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// A request's name in logs. Runs on another thread than the request's, so that it reads only references from the features. The method is a
/// parameter: Kestrel creates and caches its string on first use, and a read between two requests would give the next one the wrong method.
/// </summary>
internal static class RequestName
{
    /// <summary>The endpoint's display name if routing has chosen one, else method and path; null between two requests.</summary>
    /// <param name="features">The request's features.</param>
    /// <param name="method">The method, as the request's own thread has read it.</param>
    public static string? Of(IFeatureCollection features, string? method)
    {
        if (features.Get<IEndpointFeature>()?.Endpoint?.DisplayName is { } name)
        {
            return name;
        }

        return features.Get<IHttpRequestFeature>()?.Path is { } path ? $"{method} {path}" : null;
    }
}
