using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Decides after the remaining pipeline whether the site's 404 page applies: only to a response that nothing else has written.
/// </summary>
internal static class NotFoundPage
{
    /// <summary>
    /// Set by the end of a pipeline so that the request is logged and counted as unhandled
    /// (Microsoft.AspNetCore.Builder.ApplicationBuilder, and Hosting's diagnostics).
    /// </summary>
    private const string UnhandledKey = "__RequestUnhandled";

    /// <summary>
    /// Whether the response is a 404 without a body, by the test of UseStatusCodePages. A 404 of an endpoint does not count: with routing
    /// before the site it would be final too.
    /// </summary>
    public static bool Is(HttpContext context)
    {
        HttpResponse response = context.Response;
        return response is { HasStarted: false, StatusCode: StatusCodes.Status404NotFound, ContentLength: null }
            && string.IsNullOrEmpty(response.ContentType)
            && !HoldsBytes(response)
            && context.GetEndpoint()?.RequestDelegate is null;
    }

    /// <summary>A body that middleware buffers, to inspect or to store it, holds bytes before the response has started.</summary>
    private static bool HoldsBytes(HttpResponse response) =>
        response.Body is { CanSeek: true, Length: > 0 }
        || response.BodyWriter is { CanGetUnflushedBytes: true, UnflushedBytes: > 0 };

    /// <summary>Prepares the response for the page: removes fields that describe a body. Other fields stay.</summary>
    public static void Prepare(HttpContext context)
    {
        context.Items.Remove(UnhandledKey);
        ResponseFields.ClearBody(context.Response.Headers);
    }
}
