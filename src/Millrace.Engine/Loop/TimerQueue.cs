using System.Diagnostics;
using System.Numerics;

namespace Millrace.Engine.Loop;

/// <summary>
/// One pending time per id (a connection's slot), in O(1). A wheel of 1,024 buckets of one tick, usually 64 ms; times beyond its 65 s wait
/// in the last bucket and are scheduled again from there. Times expire up to one tick late, never early. Pure: the caller passes the clock.
/// </summary>
internal sealed class TimerWheel
{
    public const int TickMs = 1 << TickBits;

    private const int TickBits = 6;

    private const int Buckets = 1024;
    private const int None = -1;

    private readonly int[] _heads = new int[Buckets];
    private readonly ulong[] _occupied = new ulong[Buckets / 64];
    private int[] _next = [];
    private int[] _previous = [];
    private int[] _bucket = [];
    private long[] _dueMs = [];
    private readonly int _tickBits;
    private long _tick;

    /// <param name="nowMs">The clock.</param>
    /// <param name="tickBits">
    /// The logarithm of a tick's milliseconds: it is used every iteration, where a division would cost too much.
    /// </param>
    public TimerWheel(long nowMs, int tickBits = TickBits)
    {
        _tickBits = tickBits;
        _tick = nowMs >> tickBits;
        Array.Fill(_heads, None);
    }

    /// <summary>How many ids have a pending time.</summary>
    public int Count { get; private set; }

    /// <summary>Sets or moves the time of an id.</summary>
    public void Schedule(int id, long dueMs)
    {
        Debug.Assert(id >= 0);
        EnsureRoom(id);
        Unlink(id);
        _dueMs[id] = dueMs;
        long dueTick = (dueMs + (1 << _tickBits) - 1) >> _tickBits;
        Link(id, (int)(Math.Clamp(dueTick, _tick + 1, _tick + Buckets - 1) % Buckets));
    }

    public void Cancel(int id)
    {
        if (id < _bucket.Length)
        {
            Unlink(id);
        }
    }

    /// <summary>Milliseconds until <see cref="Advance"/> may have something to do; -1 when nothing is pending.</summary>
    public long WaitMs(long nowMs)
    {
        if (Count == 0)
        {
            return -1;
        }

        long ticks = TicksToOccupied();
        return Math.Max(0, ((_tick + ticks) << _tickBits) - nowMs);
    }

    /// <summary>Moves to the given time and adds the expired ids to <paramref name="expired"/>, each once.</summary>
    public void Advance(long nowMs, List<int> expired)
    {
        long now = nowMs >> _tickBits;
        // After a jump of more than one revolution every bucket is visited once.
        long tick = Math.Max(_tick, now - Buckets);
        // _tick first: a visited id that is not due yet is scheduled relative to the current time, not to the ticks that are caught up.
        _tick = Math.Max(_tick, now);
        while (tick < _tick)
        {
            tick++;
            int bucket = (int)(tick % Buckets);
            if (_heads[bucket] != None)
            {
                Expire(bucket, nowMs, expired);
            }
        }
    }

    private void Expire(int bucket, long nowMs, List<int> expired)
    {
        int id = _heads[bucket];
        while (id != None)
        {
            int next = _next[id];
            if (_dueMs[id] <= nowMs)
            {
                Unlink(id);
                expired.Add(id);
            }
            else
            {
                Schedule(id, _dueMs[id]);
            }

            id = next;
        }
    }

    private long TicksToOccupied()
    {
        int start = (int)((_tick + 1) % Buckets);
        for (int step = 0; step <= _occupied.Length; step++)
        {
            int word = ((start / 64) + step) % _occupied.Length;
            ulong bits = _occupied[word];
            if (step == 0)
            {
                bits &= ulong.MaxValue << (start % 64);
            }
            else if (step == _occupied.Length)
            {
                bits &= ~(ulong.MaxValue << (start % 64));
            }

            if (bits != 0)
            {
                int bucket = (word * 64) + BitOperations.TrailingZeroCount(bits);
                return 1 + ((bucket - start + Buckets) % Buckets);
            }
        }

        return Buckets;
    }

    private void EnsureRoom(int id)
    {
        int length = _bucket.Length;
        if (id < length)
        {
            return;
        }

        int larger = Math.Max(64, (int)BitOperations.RoundUpToPowerOf2((uint)id + 1));
        Array.Resize(ref _next, larger);
        Array.Resize(ref _previous, larger);
        Array.Resize(ref _dueMs, larger);
        Array.Resize(ref _bucket, larger);
        Array.Fill(_bucket, None, length, larger - length);
    }

    private void Link(int id, int bucket)
    {
        int head = _heads[bucket];
        _previous[id] = None;
        _next[id] = head;
        if (head != None)
        {
            _previous[head] = id;
        }

        _heads[bucket] = id;
        _bucket[id] = bucket;
        _occupied[bucket / 64] |= 1UL << (bucket % 64);
        Count++;
    }

    private void Unlink(int id)
    {
        int bucket = _bucket[id];
        if (bucket == None)
        {
            return;
        }

        int next = _next[id];
        int previous = _previous[id];
        if (next != None)
        {
            _previous[next] = previous;
        }

        if (previous != None)
        {
            _next[previous] = next;
        }
        else
        {
            _heads[bucket] = next;
            if (next == None)
            {
                _occupied[bucket / 64] &= ~(1UL << (bucket % 64));
            }
        }

        _bucket[id] = None;
        Count--;
    }
}
