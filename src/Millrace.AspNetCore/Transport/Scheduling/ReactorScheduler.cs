using System.IO.Pipelines;
using Millrace.Engine;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs the continuations of one connection's application on its reactor: inline on the reactor's thread, else through its mailbox; on the
/// thread pool while the application has left or the reactor is stalled.
/// </summary>
/// <param name="reactor">The connection's reactor.</param>
internal sealed class ReactorScheduler(Reactor reactor) : PipeScheduler
{
    private volatile bool _isAway;

    public Reactor Reactor => reactor;

    /// <summary>The owner of the callbacks. Set once, before the application runs.</summary>
    public ICallbackOwner Owner { get; set; } = null!;

    /// <summary>Whether the application has left the reactor and must not return yet. Any thread.</summary>
    public bool IsAway
    {
        get => _isAway;
        set => _isAway = value;
    }

    /// <summary>
    /// The synchronization context that the application's awaits capture, or null. Set once, before the application runs.
    /// </summary>
    public ReactorSynchronizationContext? Context { get; set; }

    /// <summary>Whether the reactor is running this connection's application. Any thread.</summary>
    public bool IsRunning => reactor.CallbackOwner == Owner;

    /// <summary>Classifies a wait that began at this heartbeat count. Any thread; the reactor is stalled.</summary>
    public OwnerWait ClassifyWait(long heartbeat) => heartbeat == reactor.Heartbeat.Count ? OwnerWait.Certain : OwnerWait.Possible;

    public override void Schedule(Action<object?> action, object? state)
    {
        if (reactor.IsReactorThread && !_isAway)
        {
            RunAsOwner(action, state);
        }
        else
        {
            // Posted unless away: a wait was canceled, or output written on another thread was sent there and a flush waits for that.
            Post(action, state);
        }
    }

    /// <summary>
    /// Runs the action on the reactor in a later iteration, or elsewhere if the application has left or the reactor is stalled. Any thread.
    /// </summary>
    public void Post(Action<object?> action, object? state)
    {
        if (_isAway)
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: false);
            return;
        }

        reactor.PostMovable(
            static state =>
            {
                var (scheduler, action, inner) = ((ReactorScheduler, Action<object?>, object?))state!;
                scheduler.RunPosted(action, inner);
            },
            (this, action, state));
    }

    /// <summary>Runs a posted action, on whatever thread it was moved to.</summary>
    public void RunPosted(Action<object?> action, object? state)
    {
        if (reactor.IsReactorThread)
        {
            RunAsOwner(action, state);
        }
        else
        {
            action(state);
        }
    }

    /// <summary>
    /// Runs application code, marked as the callback's owner for reports of blocking. Exceptions pass to the caller and leave the reactor's
    /// state as it was: the next callback belongs to another connection.
    /// </summary>
    private void RunAsOwner(Action<object?> action, object? state)
    {
        ICallbackOwner? outer = reactor.CallbackOwner;
        reactor.CallbackOwner = Owner;
        try
        {
            RunInContext(action, state);
        }
        finally
        {
            reactor.CallbackOwner = outer;
        }
    }

    private void RunInContext(Action<object?> action, object? state)
    {
        if (Context is null)
        {
            action(state);
            return;
        }

        SynchronizationContext? outer = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(Context);
        try
        {
            action(state);
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(outer);
        }
    }
}
