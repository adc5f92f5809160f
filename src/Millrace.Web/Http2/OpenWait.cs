using System.Diagnostics;

namespace Millrace.Web.Http2;

/// <summary>
/// One of several waits that somebody has open at a time: whoever began it is told when it is over, at once if it is already, and takes its
/// result then. Used again; allocates nothing. Reactor thread only.
/// </summary>
internal sealed class OpenWait<T>
{
    private readonly Action _over;
    private readonly Action _end;
    private ValueTask<T> _wait;

    public OpenWait(Action over)
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

    /// <summary>What it ended with. Once.</summary>
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
