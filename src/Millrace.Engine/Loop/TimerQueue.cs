using System.Diagnostics;
using System.Numerics;

namespace Millrace.Engine.Loop;

/// <summary>
/// One pending time per id (a connection's slot): a binary heap that knows the place of each id. Times are counted in ticks, usually of 64
/// ms, so that many expire in one iteration: up to one tick late, never early. Pure: the caller passes the clock.
/// </summary>
internal sealed class TimerQueue
{
    public const int TickMs = 1 << TickBits;

    private const int TickBits = 6;

    private const int None = -1;

    private readonly int _tickBits;
    private long _tick;

    /// <summary>The pending ids: each is due no later than those at twice its index plus one and plus two.</summary>
    private int[] _heap = [];

    /// <summary>By id, its index in the heap, or <see cref="None"/>.</summary>
    private int[] _index = [];

    private long[] _dueTick = [];

    /// <param name="nowMs">The clock.</param>
    /// <param name="tickBits">The logarithm of a tick's milliseconds.</param>
    public TimerQueue(long nowMs, int tickBits = TickBits)
    {
        _tickBits = tickBits;
        _tick = nowMs >> tickBits;
    }

    public int Count { get; private set; }

    public void Schedule(int id, long dueMs)
    {
        Debug.Assert(id >= 0);
        EnsureRoom(id);
        // A time that has passed expires with the next tick: within this one, the reactor would spin.
        _dueTick[id] = Math.Max(((dueMs - 1) >> _tickBits) + 1, _tick + 1);
        int index = _index[id];
        Place(index == None ? Count++ : index, id);
    }

    public void Cancel(int id)
    {
        if (id >= _index.Length || _index[id] == None)
        {
            return;
        }

        int index = _index[id];
        _index[id] = None;
        int last = _heap[--Count];
        if (last != id)
        {
            Place(index, last);
        }
    }

    /// <summary>When <see cref="Advance"/> has something to do; <see cref="long.MaxValue"/> when nothing is pending.</summary>
    public long NextDueMs => Count == 0 ? long.MaxValue : _dueTick[_heap[0]] << _tickBits;

    /// <summary>Moves to the given time and adds the expired ids to <paramref name="expired"/>, each once.</summary>
    public void Advance(long nowMs, List<int> expired)
    {
        _tick = Math.Max(_tick, nowMs >> _tickBits);
        while (Count > 0 && _dueTick[_heap[0]] <= _tick)
        {
            expired.Add(_heap[0]);
            Cancel(_heap[0]);
        }
    }

    private void EnsureRoom(int id)
    {
        int length = _index.Length;
        if (id >= length)
        {
            int larger = Math.Max(64, (int)BitOperations.RoundUpToPowerOf2((uint)id + 1));
            Array.Resize(ref _heap, larger);
            Array.Resize(ref _dueTick, larger);
            Array.Resize(ref _index, larger);
            Array.Fill(_index, None, length, larger - length);
        }
    }

    /// <summary>Puts an id at a free index, or where the order requires from there.</summary>
    private void Place(int index, int id)
    {
        long due = _dueTick[id];
        while (index > 0 && due < _dueTick[_heap[(index - 1) / 2]])
        {
            index = Move((index - 1) / 2, index);
        }

        for (int child = (2 * index) + 1; child < Count; child = (2 * index) + 1)
        {
            child += child + 1 < Count && _dueTick[_heap[child + 1]] < _dueTick[_heap[child]] ? 1 : 0;
            if (due <= _dueTick[_heap[child]])
            {
                break;
            }

            index = Move(child, index);
        }

        _heap[index] = id;
        _index[id] = index;
    }

    /// <summary>Moves the id at an index to a free one; returns the index that is free now.</summary>
    private int Move(int from, int to)
    {
        _heap[to] = _heap[from];
        _index[_heap[to]] = to;
        return from;
    }
}
