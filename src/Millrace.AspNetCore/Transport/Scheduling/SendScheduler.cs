using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Schedules the send of a connection's output. After a write on the reactor's thread it runs at the end of the iteration; after a write on
/// a pool thread it runs on that thread, after its current work item, as waking the reactor would cost more. Several flushes become one
/// send in both cases.
/// </summary>
internal sealed class SendScheduler(Reactor reactor) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsReactorThread)
        {
            reactor.Defer(action, state);
        }
        else
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: true);
        }
    }
}
