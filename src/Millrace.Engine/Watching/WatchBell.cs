namespace Millrace.Engine.Watching;

/// <summary>
/// Lets the watch doze while no reactor does anything, so that an idle process is not woken, and has the first reactor that rises wake it.
/// While it is awake a ring is one read of a line that nobody writes.
/// </summary>
internal sealed class WatchBell : IDisposable
{
    private readonly AutoResetEvent _rung = new(initialState: false);
    private volatile bool _isDozing;

    /// <summary>A reactor has risen; its pulse tells so already. Any thread.</summary>
    public void Ring()
    {
        if (_isDozing)
        {
            Wake();
        }
    }

    /// <summary>Ends the present wait, or the next one. Any thread.</summary>
    public void Wake()
    {
        _isDozing = false;
        _rung.Set();
    }

    /// <summary>The watch's thread.</summary>
    public void Wait(int milliseconds) => _rung.WaitOne(milliseconds);

    /// <summary>Waits until a reactor rises, unless one has. The watch's thread.</summary>
    public void Doze(Func<bool> isQuiet)
    {
        _isDozing = true;
        // Between the flag and the look, on behalf of the reactors too: a pulse that is not seen here was written by a thread that sees
        // the flag. Their own fence would cost every turn.
        Interlocked.MemoryBarrierProcessWide();
        if (isQuiet())
        {
            _rung.WaitOne();
        }

        _isDozing = false;
    }

    public void Dispose() => _rung.Dispose();
}
