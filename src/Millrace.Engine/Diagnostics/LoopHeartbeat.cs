using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Diagnostics;

/// <summary>
/// A reactor's progress: a count that changes with each callback it begins, odd while it waits in the kernel. It needs no clock; the
/// watchdog has one. Written by the reactor's thread only, with plain stores; read by any.
/// </summary>
internal sealed class LoopHeartbeat(
    KeyValuePair<string, object?> tag = default, StallWatchdog? watchdog = null, Histogram<double>? lag = null)
{
    private Line _line = new() { Beats = 1 };
    private long _waitEndedAt;

    /// <summary>Whether a watchdog checks it and moves the work of a blocked reactor to other threads.</summary>
    public bool IsWatched => watchdog is not null;

    public long Count => Volatile.Read(ref _line.Beats);

    /// <summary>Whether it waits in the kernel, is about to, or has just returned from it. Any thread.</summary>
    public bool IsWaiting => IsWaitingAt(Count);

    public static bool IsWaitingAt(long beats) => (beats & 1) != 0;

    public void Beat() => Volatile.Write(ref _line.Beats, _line.Beats + 2);

    public void EndWait()
    {
        Volatile.Write(ref _line.Beats, (_line.Beats | 1) + 1);
        watchdog?.Signal();
        if (lag is { Enabled: true })
        {
            _waitEndedAt = Stopwatch.GetTimestamp();
        }
    }

    /// <summary>The next wait in the kernel begins: events that arrived meanwhile waited at most since <see cref="EndWait"/>.</summary>
    public void BeginWait()
    {
        Volatile.Write(ref _line.Beats, (_line.Beats + 1) | 1);
        if (_waitEndedAt != 0)
        {
            lag!.Record(Stopwatch.GetElapsedTime(_waitEndedAt).TotalSeconds, tag);
            _waitEndedAt = 0;
        }
    }

    /// <summary>
    /// Has a cache line of its own, and the adjacent one that is fetched with it: it is written with every callback and read by another
    /// core.
    /// </summary>
    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct Line
    {
        [FieldOffset(64)]
        public long Beats;
    }
}
