using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs the application's continuations on a reactor: at once for who is there, else as soon as it looks into its mailbox.
/// </summary>
internal sealed class HomeScheduler(Reactor reactor) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsHome)
        {
            action(state);
        }
        else
        {
            reactor.PostContinuation(action, state);
        }
    }
}
