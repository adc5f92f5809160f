using System.Diagnostics;
using Millrace.Engine.Backends;
using Millrace.Engine.Scheduling;

namespace Millrace.Engine.Errands;

/// <summary>
/// A reactor's errands by slot, and their times: a wheel of its own, finer than that of connections, whose deadlines are seconds. What is
/// due in one turn is called in the order of its times, and of its beginnings where these are the same. Reactor thread.
/// </summary>
internal sealed class ErrandTable
{
    /// <summary>4 ms: what the clock can tell apart, the coarse one of the kernel, which goes by its ticks (CONFIG_HZ=250).</summary>
    private const int TickBits = 2;

    private readonly List<Errand?> _slots = [];
    private readonly List<uint> _generations = [];
    private readonly Stack<int> _free = new();
    private readonly TimerWheel _wheel;
    private readonly List<int> _due = [];
    private readonly Comparison<int> _byTime;
    private long _lastNumber;
    private bool _isClosed;

    public ErrandTable(long nowMs)
    {
        _wheel = new TimerWheel(nowMs, TickBits);
        _byTime = (one, other) => TimeOf(one).CompareTo(TimeOf(other));
    }

    /// <summary>Errands that are under way.</summary>
    public int Count { get; private set; }

    /// <summary>False where nothing begins any more.</summary>
    public bool TryAdd(Errand errand)
    {
        Debug.Assert(errand.Number == 0);
        if (_isClosed)
        {
            return false;
        }

        if (!_free.TryPop(out int slot))
        {
            slot = _slots.Count;
            _slots.Add(null);
            _generations.Add(0);
        }

        _slots[slot] = errand;
        errand.Slot = slot;
        errand.Generation = _generations[slot];
        errand.Number = ++_lastNumber;
        errand.DueMs = long.MaxValue;
        Count++;
        return true;
    }

    public void Remove(Errand errand)
    {
        Debug.Assert(_slots[errand.Slot] == errand);
        _wheel.Cancel(errand.Slot);
        _slots[errand.Slot] = null;
        _generations[errand.Slot] = (errand.Generation + 1) & OperationToken.GenerationMask;
        _free.Push(errand.Slot);
        errand.Number = 0;
        Count--;
    }

    /// <summary>The errand that a token means, unless that one is done.</summary>
    public Errand? Find(OperationToken token) =>
        _slots[token.Slot] is { } errand && errand.Generation == token.Generation ? errand : null;

    /// <summary>Sets or moves its time; the largest number takes it away.</summary>
    public void WakeAt(Errand errand, long dueMs)
    {
        errand.DueMs = dueMs;
        if (dueMs == long.MaxValue)
        {
            _wheel.Cancel(errand.Slot);
        }
        else
        {
            _wheel.Schedule(errand.Slot, dueMs);
        }
    }

    /// <summary>When <see cref="RunDue"/> may have something to do; the largest number for never.</summary>
    public long NextDueMs(long nowMs) => _wheel.WaitMs(nowMs) is >= 0 and long waitMs ? nowMs + waitMs : long.MaxValue;

    public void RunDue(long nowMs)
    {
        _wheel.Advance(nowMs, _due);
        if (_due.Count > 1)
        {
            _due.Sort(_byTime);
        }

        foreach (int slot in _due)
        {
            // One that was called may have ended another, whose place may be a third one's.
            if (_slots[slot] is { } errand && errand.DueMs <= nowMs)
            {
                errand.OnDue();
            }
        }

        _due.Clear();
    }

    /// <summary>The reactor stops: what is under way ends, and nothing begins any more.</summary>
    public void Close()
    {
        if (_isClosed)
        {
            return;
        }

        _isClosed = true;
        // By index, and none comes any more: the end of one may be that of others.
        for (int slot = 0; slot < _slots.Count; slot++)
        {
            _slots[slot]?.End(ErrandEnd.Stopped);
        }
    }

    private (long, long) TimeOf(int slot) => _slots[slot] is { } errand ? (errand.DueMs, errand.Number) : default;
}
