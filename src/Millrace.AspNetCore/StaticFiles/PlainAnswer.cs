using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Errors that no plan decides on: targets that are none, what cannot be opened or read now. With a line of text for people.
/// </summary>
internal static class PlainAnswer
{
    public static readonly StringValues ContentType = "text/plain; charset=utf-8";

    private static readonly StringValues NoStore = "no-store";
    private static readonly StringValues Soon = "1";

    /// <summary>What such a status says: "404 Not Found" out of "HTTP/1.1 404 Not Found".</summary>
    public static byte[] TextOf(int status) => StatusLine.Of(status)["HTTP/1.1 ".Length..].ToArray();

    /// <summary>Answers with it, whatever of another answer's head was set before.</summary>
    public static async Task WriteAsync(HttpContext context, int status)
    {
        HttpResponse response = context.Response;
        AnswerFields.Withdraw(response.Headers);
        byte[] text = TextOf(status);
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
