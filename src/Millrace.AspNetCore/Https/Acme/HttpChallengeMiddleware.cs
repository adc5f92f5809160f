using System.Diagnostics.CodeAnalysis;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Millrace.Acme;
using Millrace.Http;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>
/// Answers an authority's validations by HTTP-01 (RFC 8555, section 8.3) before other middleware, which may redirect or refuse them. All
/// other requests are passed on, also those for challenges that are not open. Costs a null check per request where nothing is obtained.
/// </summary>
internal sealed class HttpChallengeMiddleware(ObtainedCertificates certificates) : IStartupFilter
{
    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => application =>
    {
        application.Use(inner => context =>
            certificates.Challenges is { } challenges && IsChallenge(context.Request, out string? token)
                ? AnswerAsync(context, challenges, token, inner)
                : inner(context));
        next(application);
    };

    private static bool IsChallenge(HttpRequest request, [NotNullWhen(true)] out string? token)
    {
        token = HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method)
            ? AcmeChallengePath.TokenOf(request.Path.Value ?? "")
            : null;
        return token is not null;
    }

    private static async Task AnswerAsync(HttpContext context, ChallengeTable challenges, string token, RequestDelegate inner)
    {
        ReadOnlyMemory<byte> keyAuthorization = await challenges.FindKeyAuthorizationAsync(token);
        if (keyAuthorization.IsEmpty)
        {
            await inner(context);
            return;
        }

        context.Response.ContentType = "application/octet-stream";
        context.Response.ContentLength = keyAuthorization.Length;
        context.Response.Headers.CacheControl = "no-store";
        if (HttpMethods.IsGet(context.Request.Method))
        {
            await context.Response.BodyWriter.WriteAsync(keyAuthorization, context.RequestAborted);
        }
    }
}
