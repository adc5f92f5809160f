using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs the transport's continuations on the reactor at the end of the loop iteration: several flushes of the application become one send,
/// and no continuation runs inside a call of the application.
/// </summary>
internal sealed class IterationEndScheduler(Reactor reactor) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsReactorThread)
        {
            reactor.Defer(action, state);
        }
        else
        {
            // The mailbox is drained before the end of its iteration.
            reactor.PostContinuation(action, state);
        }
    }
}
