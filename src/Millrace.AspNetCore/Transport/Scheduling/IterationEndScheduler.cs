using System.IO.Pipelines;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs the transport's continuations on the reactor at the end of the loop iteration: several flushes of the application become one send,
/// and no continuation runs inside a call of the application.
/// </summary>
/// <param name="reactor">The reactor.</param>
/// <param name="staysOnPool">
/// Whether a continuation scheduled by another thread runs on the thread pool after that thread's work item, where several flushes become
/// one send too: the send of what a pool thread wrote, for which waking the reactor would cost more.
/// </param>
internal sealed class IterationEndScheduler(Reactor reactor, bool staysOnPool = false) : PipeScheduler
{
    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsReactorThread)
        {
            reactor.Defer(action, state);
        }
        else if (staysOnPool)
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: true);
        }
        else
        {
            // The mailbox is drained before the end of its iteration.
            reactor.PostContinuation(action, state);
        }
    }
}
