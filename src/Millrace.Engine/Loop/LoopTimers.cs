using Millrace.Engine.Backends;

namespace Millrace.Engine.Loop;

/// <summary>
/// Something with a time of its own, finer than the reactor's other timers: QUIC's connections pace their packets in parts of a
/// millisecond. It keeps the times itself; the loop asks for the next one before each wait. Reactor thread.
/// </summary>
internal interface ILoopTimer
{
    /// <summary>
    /// When <see cref="RunDue"/> has something to do, in <see cref="Backend.NowNs"/>; <see cref="long.MaxValue"/>: never.
    /// </summary>
    long DueNs { get; }

    /// <summary>The time has come.</summary>
    void RunDue(long nowNs);
}

/// <summary>A reactor's <see cref="ILoopTimer"/>s: a handful. Reactor thread.</summary>
internal sealed class LoopTimers
{
    private readonly List<ILoopTimer> _timers = [];

    public long DueNs
    {
        get
        {
            long due = long.MaxValue;
            foreach (ILoopTimer timer in _timers)
            {
                due = Math.Min(due, timer.DueNs);
            }

            return due;
        }
    }

    public void Add(ILoopTimer timer) => _timers.Add(timer);

    public void Remove(ILoopTimer timer) => _timers.Remove(timer);

    public void RunDue(Backend backend)
    {
        if (_timers.Count == 0 || DueNs is long.MaxValue)
        {
            return;
        }

        long now = backend.NowNs;
        // By index: one of them may end, and remove itself.
        for (int i = _timers.Count - 1; i >= 0; i--)
        {
            if (_timers[i].DueNs <= now)
            {
                _timers[i].RunDue(now);
            }
        }
    }
}
