using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Pages;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Error responses without a plan: invalid targets, and files that cannot be opened or read. Clients that prefer HTML get the built-in
/// page, others a line of plain text.
/// </summary>
internal static class ErrorResponse
{
    public static readonly StringValues ContentType = "text/plain; charset=utf-8";

    private static readonly StringValues HtmlType = Encoding.ASCII.GetString(PageStyle.HtmlType);
    private static readonly StringValues Policy = Encoding.ASCII.GetString(ErrorPage.ContentSecurityPolicy);
    private static readonly StringValues NoStore = "no-store";
    private static readonly StringValues Soon = "1";

    /// <summary>Writes the error response, and removes fields of another response that were set before.</summary>
    public static async Task WriteAsync(HttpContext context, int status)
    {
        HttpResponse response = context.Response;
        ResponseFields.ClearBodyAndForbidStoring(response.Headers);
        byte[] accept = Encoding.Latin1.GetBytes(context.Request.Headers.Accept.ToString());
        GeneratedDocument? page = ErrorPage.For(status, accept, acceptEncoding: default);
        byte[] text = page?.Bytes ?? PlannedHead.ErrorTextOf(status).ToArray();
        response.StatusCode = status;
        response.Headers.CacheControl = NoStore;
        response.Headers.ContentType = page is null ? ContentType : HtmlType;
        ResponseFields.AddVary(response.Headers, "Accept");
        if (page is not null && response.Headers.ContentSecurityPolicy.Count == 0)
        {
            response.Headers.ContentSecurityPolicy = Policy;
        }

        response.Headers.RetryAfter = status == StatusCodes.Status503ServiceUnavailable ? Soon : response.Headers.RetryAfter;
        response.ContentLength = text.Length;
        if (!HttpMethods.IsHead(context.Request.Method))
        {
            await response.Body.WriteAsync(text, context.RequestAborted);
        }
    }
}
