using System.Numerics;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Finds array indexes by the hashes of the items: open addressing, at most half full, so that linear probing meets 1.5 slots for a hit and
/// 2.5 for a miss, within one cache line. Immutable.
/// </summary>
internal sealed class HashIndex
{
    private readonly Slot[] _slots;

    private HashIndex(Slot[] slots) => _slots = slots;

    public static HashIndex Of<T>(ReadOnlySpan<T> items, Func<T, ulong> hashOf)
    {
        var slots = new Slot[BitOperations.RoundUpToPowerOf2((uint)Math.Max(1, 2 * items.Length))];
        int mask = slots.Length - 1;
        for (int index = 0; index < items.Length; index++)
        {
            ulong hash = hashOf(items[index]);
            int i = (int)hash & mask;
            while (slots[i].IndexPlusOne != 0)
            {
                i = (i + 1) & mask;
            }

            slots[i] = new Slot { Tag = TagOf(hash), IndexPlusOne = index + 1 };
        }

        return new HashIndex(slots);
    }

    /// <summary>The indexes whose hash matches in its slot and 32 more bits; the caller compares the items.</summary>
    public Candidates Find(ulong hash) => new(_slots, hash);

    private static uint TagOf(ulong hash) => (uint)(hash >> 32);

    internal ref struct Candidates(ReadOnlySpan<Slot> slots, ulong hash)
    {
        private readonly ReadOnlySpan<Slot> _slots = slots;
        private readonly uint _tag = TagOf(hash);
        private int _next = (int)hash & (slots.Length - 1);

        public bool MoveNext(out int index)
        {
            while (true)
            {
                Slot slot = _slots[_next];
                index = slot.IndexPlusOne - 1;
                if (index < 0)
                {
                    return false;
                }

                _next = (_next + 1) & (_slots.Length - 1);
                if (slot.Tag == _tag)
                {
                    return true;
                }
            }
        }
    }

    internal struct Slot
    {
        public uint Tag;
        public int IndexPlusOne;
    }
}
