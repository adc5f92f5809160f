using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Watching;

/// <summary>
/// What a reactor shows of its progress: a count that moves with each callback it begins, odd while it rests in the kernel. No clock is
/// read for that, whoever watches has one. Written by the reactor's thread only, with plain stores; read by any.
/// </summary>
internal sealed class Pulse(KeyValuePair<string, object?> tag = default, WatchBell? bell = null, Histogram<double>? lag = null)
{
    private Line _line = new() { Beats = 1 };
    private long _roseAt;

    /// <summary>Whether somebody looks at it, and has others run what waits for a reactor that is held up.</summary>
    public bool IsWatched => bell is not null;

    public long Beats => Volatile.Read(ref _line.Beats);

    /// <summary>Whether it waits in the kernel, or is about to, or has just come back from there. Any thread.</summary>
    public bool IsResting => IsAtRest(Beats);

    public static bool IsAtRest(long beats) => (beats & 1) != 0;

    /// <summary>The next callback begins.</summary>
    public void Beat() => Volatile.Write(ref _line.Beats, _line.Beats + 2);

    /// <summary>The wait in the kernel is over.</summary>
    public void Rise()
    {
        Volatile.Write(ref _line.Beats, (_line.Beats | 1) + 1);
        bell?.Ring();
        if (lag is { Enabled: true })
        {
            _roseAt = Stopwatch.GetTimestamp();
        }
    }

    /// <summary>The next wait in the kernel begins: what came meanwhile has waited for no longer than since <see cref="Rise"/>.</summary>
    public void Rest()
    {
        Volatile.Write(ref _line.Beats, (_line.Beats + 1) | 1);
        if (_roseAt != 0)
        {
            lag!.Record(Stopwatch.GetElapsedTime(_roseAt).TotalSeconds, tag);
            _roseAt = 0;
        }
    }

    /// <summary>
    /// A cache line, and the one that is fetched with it, of its own: it is written with every callback, and read by another core.
    /// </summary>
    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct Line
    {
        [FieldOffset(64)]
        public long Beats;
    }
}
