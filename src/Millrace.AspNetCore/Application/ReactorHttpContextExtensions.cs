using Millrace.AspNetCore;
using Millrace.Engine;

namespace Microsoft.AspNetCore.Http;

/// <summary>Finds the reactor that a request is served by.</summary>
public static class ReactorHttpContextExtensions
{
    /// <summary>
    /// The reactor whose connection the request came over; null where that is not Millrace's (another transport, HTTP/3, a test server).
    /// </summary>
    /// <remarks>
    /// A request of HTTP/1.1 begins on its thread, with <see cref="TransportScheduling.Inline"/> and unless middleware has left it; those
    /// of HTTP/2 begin on the thread pool. <see cref="Reactor.IsHome"/> tells whether the code is there now. There
    /// <see cref="Reactor.Delay"/>, <see cref="Reactor.ReadFileAsync"/> and
    /// <see cref="Reactor.ConnectAsync(System.Net.EndPoint, ConnectionHandler, CancellationToken)"/> go on where they were awaited,
    /// without a thread of the pool; elsewhere they refuse, and <c>await reactor.SwitchTo()</c> comes home first. What awaits something
    /// foreign goes on wherever that has ended. Whoever blocks the thread holds up all its connections.
    /// </remarks>
    public static Reactor? GetReactor(this HttpContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        return context.Features.Get<IReactorFeature>()?.Reactor;
    }
}
