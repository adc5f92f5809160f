using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Error responses without a plan, with a line of plain text: invalid targets, and files that cannot be opened or read.</summary>
internal static class ErrorResponse
{
    public static readonly StringValues ContentType = "text/plain; charset=utf-8";

    private static readonly StringValues NoStore = "no-store";
    private static readonly StringValues Soon = "1";

    /// <summary>Writes the error response, and removes fields of another response that were set before.</summary>
    public static async Task WriteAsync(HttpContext context, int status)
    {
        HttpResponse response = context.Response;
        ResponseFields.ClearBodyAndForbidStoring(response.Headers);
        byte[] text = PlannedHead.ErrorTextOf(status).ToArray();
        response.StatusCode = status;
        response.Headers.CacheControl = NoStore;
        response.Headers.ContentType = ContentType;
        response.Headers.RetryAfter = status == StatusCodes.Status503ServiceUnavailable ? Soon : response.Headers.RetryAfter;
        response.ContentLength = text.Length;
        if (!HttpMethods.IsHead(context.Request.Method))
        {
            await response.Body.WriteAsync(text, context.RequestAborted);
        }
    }
}
