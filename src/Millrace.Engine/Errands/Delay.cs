using System.Threading.Tasks.Sources;

namespace Millrace.Engine.Errands;

/// <summary>A wait for a time. The object is used again once its awaiter has had the result. Reactor thread.</summary>
internal sealed class Delay(Reactor reactor) : Errand(reactor), IValueTaskSource
{
    private ManualResetValueTaskSourceCore<bool> _core;

    public ValueTask Begin(long dueMs, CancellationToken cancellation)
    {
        if (Enter(cancellation) is { } refusal)
        {
            return ValueTask.FromException(refusal);
        }

        Reactor.Errands.WakeAt(this, dueMs);
        return new ValueTask(this, _core.Version);
    }

    public override void OnDue()
    {
        Leave();
        _core.SetResult(true);
    }

    public override void End(ErrandEnd end)
    {
        OperationCanceledException error = Cancelled(end);
        Leave();
        _core.SetException(error);
    }

    void IValueTaskSource.GetResult(short token)
    {
        // Refuses who has had it already: the object may be somebody else's by then.
        bool isOver = _core.GetStatus(token) != ValueTaskSourceStatus.Pending;
        try
        {
            _core.GetResult(token);
        }
        finally
        {
            if (isOver)
            {
                _core.Reset();
                Reactor.KeepSpare(this);
            }
        }
    }

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        // At home it goes on inline, whatever context there is.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);
}
