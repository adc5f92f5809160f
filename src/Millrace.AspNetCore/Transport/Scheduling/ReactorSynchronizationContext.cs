namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Returns one connection's application to its reactor after each await. While the reactor is stalled it guarantees nothing: posted work
/// then runs on the thread pool.
/// </summary>
internal sealed class ReactorSynchronizationContext(ReactorScheduler scheduler) : SynchronizationContext
{
    public override SynchronizationContext CreateCopy() => this;

    public override void Post(SendOrPostCallback d, object? state)
    {
        ArgumentNullException.ThrowIfNull(d);
        scheduler.Post(d.Invoke, state);
    }

    /// <exception cref="NotSupportedException">The caller is on another thread, and would block for the reactor.</exception>
    public override void Send(SendOrPostCallback d, object? state)
    {
        ArgumentNullException.ThrowIfNull(d);
        if (!scheduler.Reactor.IsReactorThread)
        {
            throw new NotSupportedException("Send would block this thread for a reactor. Use Post.");
        }

        d(state);
    }
}
