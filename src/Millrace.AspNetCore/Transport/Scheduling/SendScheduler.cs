using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs what sends a connection's output. Where the reactor's own thread has written, at the end of the turn; where a thread of the pool
/// has, on that one behind what it is doing: it sends by itself, as to wake the reactor would cost more. So what is flushed in several
/// steps is one send there too.
/// </summary>
internal sealed class SendScheduler(Reactor reactor) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsHome)
        {
            reactor.Defer(action, state);
        }
        else
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: true);
        }
    }
}
