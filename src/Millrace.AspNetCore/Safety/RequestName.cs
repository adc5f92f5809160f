using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// What an operator knows a request by. Read from another thread than the request's: of its features nothing but references.
/// </summary>
internal static class RequestName
{
    /// <summary>The endpoint's name where routing has found one, else method and path; null between two requests.</summary>
    public static string? Of(IFeatureCollection features)
    {
        if (features.Get<IEndpointFeature>()?.Endpoint?.DisplayName is { } name)
        {
            return name;
        }

        return features.Get<IHttpRequestFeature>() is { Method.Length: > 0, Path: { } path } request ? $"{request.Method} {path}" : null;
    }
}
