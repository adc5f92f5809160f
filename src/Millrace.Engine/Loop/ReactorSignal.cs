using System.Diagnostics;
using System.Threading.Tasks.Sources;

namespace Millrace.Engine.Loop;

/// <summary>
/// A reusable awaitable: one wait at a time, completed inline on the reactor's thread, without allocation. Also a wait that began on
/// another thread completes there: awaits of a connection continue on its reactor.
/// </summary>
internal sealed class ReactorSignal<T> : IValueTaskSource<T>
{
    private ManualResetValueTaskSourceCore<T> _core;

    public bool IsPending { get; private set; }

    public ValueTask<T> Begin()
    {
        Debug.Assert(!IsPending);
        _core.Reset();
        IsPending = true;
        return new ValueTask<T>(this, _core.Version);
    }

    public void Complete(T result)
    {
        Debug.Assert(IsPending);
        IsPending = false;
        _core.SetResult(result);
    }

    public void Fail(Exception error)
    {
        Debug.Assert(IsPending);
        IsPending = false;
        _core.SetException(error);
    }

    T IValueTaskSource<T>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<T>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<T>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        // With a SynchronizationContext the inline completion would become a post to it.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);
}
