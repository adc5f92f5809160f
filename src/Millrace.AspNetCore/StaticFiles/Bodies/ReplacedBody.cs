using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Whether a middleware before this one has put a stream of its own in the place of the body: caches, logs, whoever sets
/// <see cref="HttpResponse.Body"/>. A server sends what was written to its writer when the request ends; the writer over such a stream is
/// dropped with what has not been flushed. Nor need the response have started when bytes are in it.
/// </summary>
internal static class ReplacedBody
{
    /// <summary>
    /// One object is head and body of a request in Kestrel, whatever the version of HTTP, and in TestServer. Of a server with two, each
    /// body is flushed once more than it need be.
    /// </summary>
    public static bool Is(HttpContext context) =>
        !ReferenceEquals(context.Features.Get<IHttpResponseBodyFeature>(), context.Features.Get<IHttpResponseFeature>());
}
