using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// Runs Kestrel's continuations inline on the reactor's thread, and on the thread pool where another thread causes them. Handlers are not
/// among them: Kestrel queues each request of HTTP/3 to the thread pool.
/// </summary>
internal sealed class ReactorInlineScheduler(Reactor reactor) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsReactorThread)
        {
            action(state);
        }
        else
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: true);
        }
    }
}
