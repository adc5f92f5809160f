using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>
/// Answers an authority's validations by HTTP-01 (RFC 8555, section 8.3) before other middleware, which may redirect or refuse them. All
/// other requests are passed on, also those for challenges that are not open. Costs a null check per request where nothing is obtained.
/// </summary>
internal sealed class HttpChallengeMiddleware(ObtainedCertificates certificates) : IStartupFilter
{
    private const string Folder = "/.well-known/acme-challenge/";

    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => application =>
    {
        application.Use(inner => context =>
            IsOpenChallenge(context.Request, out ReadOnlyMemory<byte> answer) ? AnswerAsync(context, answer) : inner(context));
        next(application);
    };

    private static async Task AnswerAsync(HttpContext context, ReadOnlyMemory<byte> keyAuthorization)
    {
        context.Response.ContentType = "application/octet-stream";
        context.Response.ContentLength = keyAuthorization.Length;
        context.Response.Headers.CacheControl = "no-store";
        if (HttpMethods.IsGet(context.Request.Method))
        {
            await context.Response.BodyWriter.WriteAsync(keyAuthorization, context.RequestAborted);
        }
    }

    private bool IsOpenChallenge(HttpRequest request, out ReadOnlyMemory<byte> keyAuthorization)
    {
        keyAuthorization = default;
        return certificates.Challenges is { } challenges
            && request.Path.Value is { } path && path.StartsWith(Folder, StringComparison.Ordinal)
            && (HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method))
            && challenges.TryGetKeyAuthorization(Encoding.UTF8.GetBytes(path[Folder.Length..]), out keyAuthorization);
    }
}
