using System.Diagnostics;
using Millrace.Engine.Listening;
using Millrace.Interop;

namespace Millrace.Engine.Diagnostics;

/// <summary>
/// Stall watchdog: one thread that checks the heartbeats of a group's reactors every few milliseconds while any of them is active. While
/// none is, it sleeps, so that an idle process is not woken; the first reactor that becomes active wakes it.
/// </summary>
internal sealed class StallWatchdog(EngineLog log) : IDisposable
{
    /// <summary>Quiet checks before it sleeps: an occasional request does not wake it each time.</summary>
    private const int QuietChecksMax = 10;

    private readonly AutoResetEvent _wake = new(initialState: false);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private ReactorWatchdog[] _watched = [];
    private volatile bool _isSleeping;
    private volatile bool _isStopping;

    public void Start(IReadOnlyList<Reactor> reactors, ConnectionBalancer balancer)
    {
        var line = new LogRateLimiter();
        _watched = [.. reactors.Select(reactor => new ReactorWatchdog(reactor, balancer, log, line))];
        new Thread(Run) { IsBackground = true, Name = "millrace-watch" }.UnsafeStart();
    }

    /// <summary>
    /// A reactor has become active, as its heartbeat already shows. While the watchdog is awake this is one read of a cache line that
    /// nothing writes. Any thread.
    /// </summary>
    public void Signal()
    {
        if (_isSleeping)
        {
            Wake();
        }
    }

    /// <summary>Called after the reactors have ended.</summary>
    public async Task StopAsync()
    {
        _isStopping = true;
        Wake();
        await _ended.Task;
        // Not by the watchdog's thread: it may see the flag before Wake is called.
        Dispose();
    }

    /// <summary>In place of <see cref="StopAsync"/> where the watchdog was never started.</summary>
    public void Dispose() => _wake.Dispose();

    /// <summary>Waits until a reactor becomes active, unless one has. The watchdog's thread.</summary>
    internal void Sleep(Func<bool> isQuiet)
    {
        _isSleeping = true;
        // Dekker pattern: the watchdog sets the flag, fences and reads the heartbeats; a reactor writes its heartbeat and reads the flag.
        // The process-wide barrier fences the reactors too, whose own fence would cost every iteration. A heartbeat that is not seen here
        // was written by a thread that sees the flag.
        Interlocked.MemoryBarrierProcessWide();
        if (isQuiet())
        {
            _wake.WaitOne();
        }

        _isSleeping = false;
    }

    private void Wake()
    {
        _isSleeping = false;
        _wake.Set();
    }

    private void Run()
    {
        int quietChecks = 0;
        while (!_isStopping)
        {
            quietChecks = IsQuiet() ? quietChecks + 1 : 0;
            if (quietChecks < QuietChecksMax)
            {
                _wake.WaitOne(StallDetector.PeriodMs);
            }
            else
            {
                Sleep(IsQuiet);
                quietChecks = 0;
            }
        }

        Array.ForEach(_watched, static watched => watched.Dispose());
        _ended.SetResult();
    }

    private bool IsQuiet()
    {
        // Not TickCount64, a coarse clock whose steps of 4 ms are as long as the time between two checks.
        long nowMs = (long)Stopwatch.GetElapsedTime(0).TotalMilliseconds;
        bool isQuiet = !_isStopping;
        foreach (ReactorWatchdog watched in _watched)
        {
            try
            {
                isQuiet &= watched.Check(nowMs);
            }
#pragma warning disable CA1031 // Callback owners are foreign code: one that throws must not leave the reactors unwatched.
            catch (Exception error)
#pragma warning restore CA1031
            {
                log.CallbackOwnerFailed(error);
                isQuiet = false;
            }
        }

        return isQuiet;
    }
}
