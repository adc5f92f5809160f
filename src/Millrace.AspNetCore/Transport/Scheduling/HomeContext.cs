namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Brings one connection's application home behind each of its awaits. Off a reactor that is held up it has none of its promises: what was
/// posted runs on the thread pool then.
/// </summary>
internal sealed class HomeContext(HomeScheduler home) : SynchronizationContext
{
    public override SynchronizationContext CreateCopy() => this;

    public override void Post(SendOrPostCallback d, object? state)
    {
        ArgumentNullException.ThrowIfNull(d);
        if (home.IsAway)
        {
            ThreadPool.UnsafeQueueUserWorkItem(d.Invoke, state, preferLocal: false);
        }
        else
        {
            home.Post(d.Invoke, state);
        }
    }

    /// <exception cref="NotSupportedException">The caller is elsewhere, and would block for the reactor.</exception>
    public override void Send(SendOrPostCallback d, object? state)
    {
        ArgumentNullException.ThrowIfNull(d);
        if (!home.Reactor.IsHome)
        {
            throw new NotSupportedException("Nobody may block for a reactor: use Post.");
        }

        d(state);
    }
}
