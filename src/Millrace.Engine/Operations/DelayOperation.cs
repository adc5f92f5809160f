using System.Threading.Tasks.Sources;

namespace Millrace.Engine.Operations;

/// <summary>A delay. The object is reused after its awaiter has read the result. Reactor thread.</summary>
internal sealed class DelayOperation(Reactor reactor) : ReactorOperation(reactor), IValueTaskSource
{
    private ManualResetValueTaskSourceCore<bool> _core;

    public ValueTask Begin(long dueMs, CancellationToken cancellation)
    {
        if (Enter(cancellation) is { } refusal)
        {
            return ValueTask.FromException(refusal);
        }

        Reactor.Operations.WakeAt(this, dueMs);
        return new ValueTask(this, _core.Version);
    }

    public override void OnDue()
    {
        Leave();
        _core.SetResult(true);
    }

    public override void End(OperationEnd end)
    {
        OperationCanceledException error = Cancelled(end);
        Leave();
        _core.SetException(error);
    }

    void IValueTaskSource.GetResult(short token)
    {
        // Throws for a second read of the result: the object may have been reused by then.
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
                Reactor.Operations.Return(this);
            }
        }
    }

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        // On the reactor it continues inline, whatever context there is.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);
}
