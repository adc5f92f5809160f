using System.Diagnostics;

namespace Millrace.Quic.Streams;

/// <summary>
/// The blocks that hold a stream's bytes, found by their offset in the stream: block n holds offsets from n times
/// <see cref="BlockPool.BlockBytes"/>. Blocks may be missing. It owns its blocks until they are released. One thread.
/// </summary>
internal sealed unsafe class BlockRing(BlockPool pool)
{
    private const int SlotsMin = 4;
    private const int SlotsKept = 64;

    private nint[] _slots = new nint[SlotsMin];
    private long _first;

    /// <summary>Number of blocks held.</summary>
    public int Count { get; private set; }

    /// <summary>The bytes from an offset up to the end of its block; empty if there is no block.</summary>
    public Span<byte> Find(long offset)
    {
        long block = offset >> BlockPool.BlockShift;
        nint address = block < _first || block >= _first + _slots.Length ? 0 : _slots[IndexOf(block)];
        int skipped = (int)(offset & (BlockPool.BlockBytes - 1));
        return address == 0 ? default : new Span<byte>((byte*)address + skipped, BlockPool.BlockBytes - skipped);
    }

    /// <summary>As <see cref="Find"/>, of a block that is rented if it is missing, whatever the limit of the pool.</summary>
    public Span<byte> FindOrRent(long offset)
    {
        Span<byte> found = Find(offset);
        if (!found.IsEmpty)
        {
            return found;
        }

        Put(offset, pool.Rent());
        return Find(offset);
    }

    /// <summary>Adds the block of an offset, which is missing and not before the released ones.</summary>
    public void Put(long offset, nint address)
    {
        long block = offset >> BlockPool.BlockShift;
        Debug.Assert(block >= _first);
        if (block >= _first + _slots.Length)
        {
            Grow((int)(block - _first) + 1);
        }

        Debug.Assert(_slots[IndexOf(block)] == 0);
        _slots[IndexOf(block)] = address;
        Count++;
    }

    /// <summary>Returns the blocks that end at or before an offset to the pool; the number of them.</summary>
    public int ReleaseBefore(long offset)
    {
        long end = offset >> BlockPool.BlockShift;
        int before = Count;
        for (; _first < end && Count > 0; _first++)
        {
            ReleaseSlot(IndexOf(_first));
        }

        _first = Math.Max(_first, end);
        return before - Count;
    }

    /// <summary>Returns all blocks; the number of them. The next block may be any not before <paramref name="offset"/>.</summary>
    public int ReleaseAll(long offset)
    {
        int released = Count;
        for (int i = 0; i < _slots.Length && Count > 0; i++)
        {
            ReleaseSlot(i);
        }

        if (_slots.Length > SlotsKept)
        {
            _slots = new nint[SlotsMin];
        }

        _first = offset >> BlockPool.BlockShift;
        return released;
    }

    private int IndexOf(long block) => (int)(block & (_slots.Length - 1));

    private void ReleaseSlot(int index)
    {
        if (_slots[index] != 0)
        {
            pool.Return(_slots[index]);
            _slots[index] = 0;
            Count--;
        }
    }

    private void Grow(int slotsMin)
    {
        nint[] old = _slots;
        int capacity = old.Length;
        while (capacity < slotsMin)
        {
            capacity *= 2;
        }

        _slots = new nint[capacity];
        for (long block = _first; block < _first + old.Length; block++)
        {
            _slots[IndexOf(block)] = old[(int)(block & (old.Length - 1))];
        }
    }
}
