using System.Threading.Tasks.Sources;
using Millrace.Engine;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Moves a request off its reactor, for one <c>await</c>: the continuation runs on the thread pool after the reactor's current callback has
/// ended. If it completed earlier, a pool thread could complete it before the nearest <c>await</c> checks, and the continuation would stay
/// on the reactor: routing, with an endpoint that may block. Created and awaited on the reactor's thread; does not fail.
/// </summary>
internal sealed class LeaveReactorAwaitable(Reactor reactor) : IValueTaskSource
{
    private ManualResetValueTaskSourceCore<bool> _leave = new() { RunContinuationsAsynchronously = true };

    /// <summary>Begins to leave the caller's reactor.</summary>
    public static ValueTask From(Reactor reactor)
    {
        var leave = new LeaveReactorAwaitable(reactor);
        if (reactor.Heartbeat.IsWatched)
        {
            reactor.PostAfterCallback(static leave => ((LeaveReactorAwaitable)leave!).End(), leave);
        }
        else
        {
            // Without the watchdog, a caller that blocks on this task would wait forever: nothing would hand over the posted callback.
            leave.End();
        }

        return new ValueTask(leave, leave._leave.Version);
    }

    /// <summary>Always pending on the reactor's thread, even after completion: a completed <c>await</c> would continue there.</summary>
    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) =>
        reactor.IsReactorThread ? ValueTaskSourceStatus.Pending : _leave.GetStatus(token);

    /// <summary>Ignores the caller's synchronization context, which may be the one that returns to the reactor.</summary>
    void IValueTaskSource.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _leave.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);

    void IValueTaskSource.GetResult(short token) => _leave.GetResult(token);

    private void End() => _leave.SetResult(true);
}
