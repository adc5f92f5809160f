using System.Threading.Tasks.Sources;

namespace Millrace.Engine.Operations;

/// <summary>
/// An operation that is awaited and reused: its object is free again after its awaiter has read the result. Reactor thread.
/// </summary>
internal abstract class ReusedOperation(Reactor reactor) : ReactorOperation(reactor), IValueTaskSource, IValueTaskSource<int>
{
    private ManualResetValueTaskSourceCore<int> _core;

    /// <summary>Its awaitable's version.</summary>
    protected short Version => _core.Version;

    protected void Complete(int result) => _core.SetResult(result);

    protected void Fail(Exception error) => _core.SetException(error);

    /// <summary>Gives the object back to the reactor.</summary>
    protected abstract void Return();

    int IValueTaskSource<int>.GetResult(short token)
    {
        // Throws for a second read of the result: the object may have been reused by then.
        bool isOver = _core.GetStatus(token) != ValueTaskSourceStatus.Pending;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            if (isOver)
            {
                _core.Reset();
                Return();
            }
        }
    }

    void IValueTaskSource.GetResult(short token) => _ = ((IValueTaskSource<int>)this).GetResult(token);

    public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        // On the reactor it continues inline, whatever context there is.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);
}
