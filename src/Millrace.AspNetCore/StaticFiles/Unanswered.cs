using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// A request that went through the rest of the pipeline, and what that made of it. A site's page for what is nowhere answers only what
/// nobody else has answered.
/// </summary>
internal static class Unanswered
{
    /// <summary>
    /// What the end of a pipeline leaves behind, so that it is logged and counted as handled by nobody
    /// (Microsoft.AspNetCore.Builder.ApplicationBuilder, and Hosting's diagnostics).
    /// </summary>
    private const string UnhandledKey = "__RequestUnhandled";

    /// <summary>
    /// Whether it is left as a 404 without a body, as UseStatusCodePages tells it. Not that of an endpoint: with routing before the site
    /// it would be final too.
    /// </summary>
    public static bool Is(HttpContext context)
    {
        HttpResponse response = context.Response;
        return response is { HasStarted: false, StatusCode: StatusCodes.Status404NotFound, ContentLength: null }
            && string.IsNullOrEmpty(response.ContentType)
            && !HoldsBytes(response)
            && context.GetEndpoint()?.RequestDelegate is null;
    }

    /// <summary>A body that a middleware keeps back, to look at it or to store it, has not started with bytes in it.</summary>
    private static bool HoldsBytes(HttpResponse response) =>
        response.Body is { CanSeek: true, Length: > 0 }
        || response.BodyWriter is { CanGetUnflushedBytes: true, UnflushedBytes: > 0 };

    /// <summary>Makes room for an answer: takes back what was said of the body that there is not. Other fields stay.</summary>
    public static void Take(HttpContext context)
    {
        context.Items.Remove(UnhandledKey);
        AnswerFields.WithdrawBody(context.Response.Headers);
    }
}
