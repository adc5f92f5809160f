using Millrace.AspNetCore;
using Millrace.Engine;

namespace Microsoft.AspNetCore.Http;

/// <summary>Finds the reactor that serves a request.</summary>
public static class ReactorHttpContextExtensions
{
    /// <summary>
    /// The reactor of the request's connection; null where the connection is not Millrace's (another transport, a test server).
    /// </summary>
    /// <remarks>
    /// An HTTP/1.1 request begins on the reactor's thread with <see cref="TransportScheduling.Inline"/>, unless its body is incomplete, the
    /// server allows synchronous reads and writes, or middleware left the reactor; requests of HTTP/2 and HTTP/3 begin on the thread pool.
    /// <see cref="Reactor.IsReactorThread"/> says whether the calling code is on that thread. There <see cref="Reactor.Delay"/>,
    /// <see cref="Reactor.ReadFileAsync"/> and
    /// <see cref="Reactor.ConnectAsync(System.Net.EndPoint, ConnectionHandler, CancellationToken)"/> resume on the same thread without the
    /// thread pool; on other threads they throw, and <c>await reactor.SwitchTo()</c> returns to the reactor first. Code that awaits
    /// anything else resumes on the thread that completed it. Code that blocks the reactor's thread stalls all its connections.
    /// </remarks>
    public static Reactor? GetReactor(this HttpContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        return context.Features.Get<IReactorFeature>()?.Reactor;
    }
}
