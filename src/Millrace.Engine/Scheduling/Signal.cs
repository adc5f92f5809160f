using System.Diagnostics;
using System.Threading.Tasks.Sources;

namespace Millrace.Engine.Scheduling;

/// <summary>
/// A reusable awaitable: one wait at a time, completed inline on the reactor's thread, no allocation. A wait that is
/// pending when its awaiter lives on another thread is still completed here: whoever awaits a connection is at home.
/// </summary>
internal sealed class Signal<T> : IValueTaskSource<T>
{
    private ManualResetValueTaskSourceCore<T> _core;

    /// <summary>Whether somebody waits.</summary>
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
        // A SynchronizationContext would turn the inline completion into a post to itself.
        _core.OnCompleted(continuation, state, token, flags & ~ValueTaskSourceOnCompletedFlags.UseSchedulingContext);
}
