using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace Proxy;

/// <summary>What a proxy passes on, and what ends with each connection (RFC 9110, section 7.6).</summary>
internal static class Forwarding
{
    private static readonly HashSet<string> OfOneConnection = new(StringComparer.OrdinalIgnoreCase)
    {
        HeaderNames.Connection, HeaderNames.KeepAlive, HeaderNames.ProxyConnection, HeaderNames.TE, HeaderNames.Trailer,
        HeaderNames.TransferEncoding, HeaderNames.Upgrade, HeaderNames.Expect, HeaderNames.Host,
    };

    public static HttpRequestMessage ToUpstream(HttpContext context, Uri upstream)
    {
        HttpRequest from = context.Request;
        // Joined as text: resolved, a path like //elsewhere/ would name another host.
        string target = $"{upstream.GetLeftPart(UriPartial.Authority)}{from.PathBase}{from.Path}{from.QueryString}";
        var request = new HttpRequestMessage(new HttpMethod(from.Method), target);
        if (context.Features.Get<IHttpRequestBodyDetectionFeature>()?.CanHaveBody == true)
        {
            request.Content = new StreamContent(from.Body);
        }

        string[] named = from.Headers.GetCommaSeparatedValues(HeaderNames.Connection);
        foreach ((string name, StringValues values) in from.Headers)
        {
            if (!OfOneConnection.Contains(name) && !named.Contains(name, StringComparer.OrdinalIgnoreCase)
                && !request.Headers.TryAddWithoutValidation(name, (IEnumerable<string?>)values))
            {
                request.Content?.Headers.TryAddWithoutValidation(name, (IEnumerable<string?>)values);
            }
        }

        request.Headers.TryAddWithoutValidation(HeaderNames.Via, "1.1 millrace");
        request.Headers.TryAddWithoutValidation("X-Forwarded-For", context.Connection.RemoteIpAddress?.ToString());
        return request;
    }

    public static async Task ToClientAsync(HttpResponseMessage response, HttpContext context)
    {
        context.Response.StatusCode = (int)response.StatusCode;
        string[] named = [.. response.Headers.Connection];
        foreach ((string name, IEnumerable<string> values) in response.Headers.Concat(response.Content.Headers))
        {
            if (!OfOneConnection.Contains(name) && !named.Contains(name, StringComparer.OrdinalIgnoreCase))
            {
                context.Response.Headers[name] = values.ToArray();
            }
        }

        await response.Content.CopyToAsync(context.Response.Body, context.RequestAborted);
    }
}
