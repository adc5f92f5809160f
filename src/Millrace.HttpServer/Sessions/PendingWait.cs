using System.Diagnostics;
using Millrace.Engine.Loop;

namespace Millrace.HttpServer.Sessions;

/// <summary>
/// One of several concurrent waits. It calls back when the wait completes, or at once if it has completed already; the owner then takes the
/// result. Reusable; allocates nothing. Reactor thread only.
/// </summary>
internal sealed class PendingWait<T>
{
    private readonly Action _over;
    private readonly Action _end;
    private ValueTask<T> _wait;

    public PendingWait(Action over)
    {
        _over = over;
        _end = End;
    }

    public bool IsOpen { get; private set; }

    public void Begin(ValueTask<T> wait)
    {
        Debug.Assert(!IsOpen);
        _wait = wait;
        IsOpen = true;
        if (wait.IsCompleted)
        {
            End();
        }
        else
        {
            wait.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_end);
        }
    }

    /// <summary>The result; may be taken once.</summary>
    public T Take()
    {
        ValueTask<T> wait = _wait;
        _wait = default;
        return wait.GetAwaiter().GetResult();
    }

    private void End()
    {
        IsOpen = false;
        _over();
    }
}

/// <summary>Wakes the loop of a session, which waits for any of several things. Reactor thread only.</summary>
internal sealed class SessionEvent
{
    private readonly ReactorSignal<bool> _signal = new();
    private bool _isSet;

    public ValueTask<bool> WaitAsync()
    {
        if (!_isSet)
        {
            return _signal.Begin();
        }

        _isSet = false;
        return new ValueTask<bool>(true);
    }

    public void Set()
    {
        if (_signal.IsPending)
        {
            _signal.Complete(true);
        }
        else
        {
            _isSet = true;
        }
    }

    /// <summary>Forgets what was set before the next wait.</summary>
    public void Reset() => _isSet = false;
}
