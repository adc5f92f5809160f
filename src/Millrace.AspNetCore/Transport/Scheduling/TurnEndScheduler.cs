using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs the transport's own continuations on a reactor at the end of the turn: what the application flushes in several steps is one send,
/// and none of them runs within a call of the application's.
/// </summary>
internal sealed class TurnEndScheduler(Reactor reactor) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsHome)
        {
            reactor.Defer(action, state);
        }
        else
        {
            // It is drained before the end of its turn.
            reactor.PostContinuation(action, state);
        }
    }
}
