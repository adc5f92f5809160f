using Millrace.AspNetCore;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;

namespace Microsoft.AspNetCore.Http;

/// <summary>Methods of a request on a Millrace connection.</summary>
public static class MillraceHttpContextExtensions
{
    /// <summary>
    /// Call this before code that blocks or computes for long: after <c>await context.LeaveReactor();</c> the handler continues on the
    /// thread pool, and so does everything else that the request awaits. The connection's next request begins on the reactor again. Off a
    /// reactor it completes at once.
    /// </summary>
    public static ValueTask LeaveReactor(this HttpContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        // Requests of later versions share a connection and run on the thread pool anyway.
        if (HttpProtocol.IsHttp11(context.Request.Protocol) || HttpProtocol.IsHttp10(context.Request.Protocol))
        {
            LeaveUntilEnd(context);
        }

        return Reactor.Current is { } reactor ? LeaveReactorAwaitable.From(reactor) : ValueTask.CompletedTask;
    }

    private static void LeaveUntilEnd(HttpContext context)
    {
        if (context.Features.Get<IReactorFeature>() is TransportConnection { Callbacks.Scheduler: { } scheduler })
        {
            scheduler.IsAway = true;
            context.Response.OnCompleted(
                static scheduler =>
                {
                    ((ReactorScheduler)scheduler).IsAway = false;
                    return Task.CompletedTask;
                },
                scheduler);
        }
    }
}
