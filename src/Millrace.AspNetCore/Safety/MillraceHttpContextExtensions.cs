using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Connections.Features;
using Millrace.AspNetCore.Safety;
using Millrace.Engine;

namespace Microsoft.AspNetCore.Http;

/// <summary>What a request can ask of Millrace.</summary>
public static class MillraceHttpContextExtensions
{
    /// <summary>
    /// Awaited by a handler that is about to block, or to compute for long: <c>await context.LeaveReactor();</c> goes on on the thread
    /// pool, and so does all that the request awaits from there on. The connection's next request is at home again. Off a reactor it
    /// completes at once.
    /// </summary>
    public static ConfiguredTaskAwaitable LeaveReactor(this HttpContext context)
    {
        ArgumentNullException.ThrowIfNull(context);
        // The requests of later versions share a connection, and run on the thread pool in any case.
        if (HttpProtocol.IsHttp11(context.Request.Protocol) || HttpProtocol.IsHttp10(context.Request.Protocol))
        {
            LeaveUntilEnd(context);
        }

        // Where nobody watches, who blocks for it would hold the reactor for ever: there the pool has it at once.
        Task passage = Reactor.Current is { Pulse.IsWatched: true } reactor ? PassToPool(reactor) : Task.CompletedTask;
        return passage.ConfigureAwait(Reactor.Current is null ? ConfigureAwaitOptions.None : ConfigureAwaitOptions.ForceYielding);
    }

    /// <summary>
    /// Completes on the thread pool once the reactor is done with the caller. If it could be before, a pool's thread that is quicker than
    /// the way back to the nearest <c>await</c> would have that go on on the reactor: routing, with an endpoint that may block.
    /// </summary>
    private static Task PassToPool(Reactor reactor)
    {
        var passed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.PostBehind(static passed => ((TaskCompletionSource)passed!).SetResult(), passed);
        return passed.Task;
    }

    private static void LeaveUntilEnd(HttpContext context)
    {
        // The connection is its own features, down to those that nobody replaces.
        if (context.Features.Get<IConnectionSocketFeature>() is IApplicationPlace place)
        {
            place.Leave();
            context.Response.OnCompleted(
                static place =>
                {
                    ((IApplicationPlace)place).Return();
                    return Task.CompletedTask;
                },
                place);
        }
    }
}
