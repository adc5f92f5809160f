namespace Millrace.Engine.Diagnostics;

/// <summary>
/// Lets the watchdog sleep while no reactor is active, so that an idle process is not woken; the first reactor that becomes active wakes
/// it. While it is awake, <see cref="Signal"/> is one read of a cache line that nothing writes.
/// </summary>
internal sealed class WatchdogEvent : IDisposable
{
    private readonly AutoResetEvent _event = new(initialState: false);
    private volatile bool _isSleeping;

    /// <summary>A reactor has become active, as its heartbeat already shows. Any thread.</summary>
    public void Signal()
    {
        if (_isSleeping)
        {
            Wake();
        }
    }

    /// <summary>Ends the current wait, or the next one. Any thread.</summary>
    public void Wake()
    {
        _isSleeping = false;
        _event.Set();
    }

    /// <summary>The watchdog's thread.</summary>
    public void Wait(int milliseconds) => _event.WaitOne(milliseconds);

    /// <summary>Waits until a reactor becomes active, unless one has. The watchdog's thread.</summary>
    public void Sleep(Func<bool> isQuiet)
    {
        _isSleeping = true;
        // Dekker pattern: the watchdog sets the flag, fences and reads the heartbeats; a reactor writes its heartbeat and reads the flag.
        // The process-wide barrier fences the reactors too, whose own fence would cost every iteration. A heartbeat that is not seen here
        // was written by a thread that sees the flag.
        Interlocked.MemoryBarrierProcessWide();
        if (isQuiet())
        {
            _event.WaitOne();
        }

        _isSleeping = false;
    }

    public void Dispose() => _event.Dispose();
}
