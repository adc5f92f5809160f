using System.IO.Pipelines;
using Millrace.Engine;
using Millrace.Engine.Watching;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// Runs the continuations of one connection's application on its reactor: at once for who is there, else as soon as it looks into its
/// mailbox; on the thread pool for as long as the application has left, or the reactor is held up.
/// </summary>
/// <param name="reactor">Home.</param>
/// <param name="occupant">The connection.</param>
internal sealed class HomeScheduler(Reactor reactor, IOccupant occupant) : PipeScheduler
{
    private volatile bool _isAway;

    public Reactor Reactor => reactor;

    /// <summary>Whether the application has left, and is to be left there. Any thread.</summary>
    public bool IsAway
    {
        get => _isAway;
        set => _isAway = value;
    }

    /// <summary>What the application's awaits capture; null: nothing. Set once, before the application runs.</summary>
    public HomeContext? Context { get; set; }

    /// <summary>Whether it is this connection's application that holds the reactor up. Any thread.</summary>
    public bool IsHeldUpByOccupant => reactor.IsHeldUp && reactor.Occupant == occupant;

    /// <summary>What a wait is that began when the reactor's pulse was there. Any thread; the reactor is held up.</summary>
    public OccupantWait WaitSince(long beat) => beat == reactor.Pulse.Beats ? OccupantWait.Surely : OccupantWait.Perhaps;

    public override void Schedule(Action<object?> action, object? state)
    {
        if (_isAway)
        {
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: false);
        }
        else if (reactor.IsHome)
        {
            Occupy(action, state);
        }
        else
        {
            // Somebody cancels a wait, or what was written elsewhere was sent there and a flush waits for that.
            Post(action, state);
        }
    }

    /// <summary>At home in a later turn, unless the application has left or the reactor is held up. Any thread.</summary>
    public void Post(Action<object?> action, object? state) => reactor.PostMovable(
        static state =>
        {
            var (home, action, inner) = ((HomeScheduler, Action<object?>, object?))state!;
            home.Arrive(action, inner);
        },
        (this, action, state));

    /// <summary>Runs what was posted to the reactor, wherever it has ended up.</summary>
    public void Arrive(Action<object?> action, object? state)
    {
        if (reactor.IsHome)
        {
            Occupy(action, state);
        }
        else
        {
            action(state);
        }
    }

    /// <summary>The application's code runs within, and is told of when it blocks.</summary>
    private void Occupy(Action<object?> action, object? state)
    {
        IOccupant? outer = reactor.Occupant;
        reactor.Occupant = occupant;
        if (Context is null)
        {
            action(state);
        }
        else
        {
            SynchronizationContext? outerContext = SynchronizationContext.Current;
            SynchronizationContext.SetSynchronizationContext(Context);
            action(state);
            SynchronizationContext.SetSynchronizationContext(outerContext);
        }

        reactor.Occupant = outer;
    }
}
