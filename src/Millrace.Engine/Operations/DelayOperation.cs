using Millrace.Engine.Backends;

namespace Millrace.Engine.Operations;

/// <summary>A delay. Reactor thread.</summary>
internal sealed class DelayOperation(Reactor reactor) : ReactorOperation(reactor, OperationKind.None)
{
    public ValueTask Begin(long dueMs, CancellationToken cancellation)
    {
        if (!TryEnter(cancellation, out Exception? refusal))
        {
            return ValueTask.FromException(refusal!);
        }

        Reactor.Operations.WakeAt(this, dueMs);
        return WaitForEnd();
    }

    protected override void TimeReached() => Finish(0, error: null);

    protected override void Return() => Reactor.Operations.Return(this);
}
