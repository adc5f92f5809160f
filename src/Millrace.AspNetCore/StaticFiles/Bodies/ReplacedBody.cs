using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.StaticFiles.Bodies;

/// <summary>
/// Detects that an earlier middleware has replaced the body stream, as caches and loggers do by setting <see cref="HttpResponse.Body"/>. A
/// server sends unflushed output of its writer when the request ends; the writer over a replaced stream drops it. Nor has the response
/// necessarily started when that stream holds bytes.
/// </summary>
internal static class ReplacedBody
{
    /// <summary>
    /// In Kestrel, for every version of HTTP, and in TestServer one object implements both features. With a server that uses two objects,
    /// each body is flushed once more than necessary.
    /// </summary>
    public static bool Is(HttpContext context) =>
        !ReferenceEquals(context.Features.Get<IHttpResponseBodyFeature>(), context.Features.Get<IHttpResponseFeature>());
}
