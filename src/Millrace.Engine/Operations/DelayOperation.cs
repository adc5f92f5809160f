namespace Millrace.Engine.Operations;

/// <summary>A delay. Reactor thread.</summary>
internal sealed class DelayOperation(Reactor reactor) : ReusedOperation(reactor)
{
    public ValueTask Begin(long dueMs, CancellationToken cancellation)
    {
        if (Enter(cancellation) is { } refusal)
        {
            return ValueTask.FromException(refusal);
        }

        Reactor.Operations.WakeAt(this, dueMs);
        return new ValueTask(this, Version);
    }

    public override void OnDue()
    {
        Leave();
        Complete(0);
    }

    public override void End(OperationEnd end)
    {
        OperationCanceledException error = Cancelled(end);
        Leave();
        Fail(error);
    }

    protected override void Return() => Reactor.Operations.Return(this);
}
