using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Finds array indexes by the hashes of the items: open addressing, at most half full, so that linear probing meets 1.5 slots for a hit and
/// 2.5 for a miss, within one cache line. Immutable.
/// </summary>
internal sealed class HashIndex(HashIndex.Slot[] slots)
{
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
    public Candidates Find(ulong hash) => new(slots, hash);

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

/// <summary>
/// The hash of a path: 16 bytes per step, mixed by a folded 64 x 64 to 128 bit product (the idea of wyhash). Unseeded: the keys are the
/// site's own files, so a client cannot place colliding ones, only miss.
/// </summary>
internal static class PathHash
{
    private const ulong First = 0xa0761d6478bd642f;
    private const ulong Second = 0xe7037ed1a0b428db;
    private const ulong Third = 0x8ebc6af09c88c6e3;

    public static ulong Of(ReadOnlySpan<byte> path)
    {
        ref byte bytes = ref MemoryMarshal.GetReference(path);
        ulong hash = Third ^ (ulong)path.Length;
        nint offset = 0;
        nint length = path.Length;
        while (length - offset > 16)
        {
            hash = Fold(Read8(ref bytes, offset) ^ First, Read8(ref bytes, offset + 8) ^ hash);
            offset += 16;
        }

        (ulong low, ulong high) = Tail(ref bytes, offset, length);
        return Fold(Second ^ (ulong)length, Fold(low ^ First, high ^ hash));
    }

    /// <summary>The last 0 to 16 bytes. Two reads that may overlap cover each length without a loop.</summary>
    private static (ulong Low, ulong High) Tail(ref byte bytes, nint offset, nint length)
    {
        nint count = length - offset;
        if (count >= 8)
        {
            return (Read8(ref bytes, offset), Read8(ref bytes, length - 8));
        }

        if (count >= 4)
        {
            return (Read4(ref bytes, offset), Read4(ref bytes, length - 4));
        }

        if (count == 0)
        {
            return (0, 0);
        }

        ulong first = Unsafe.Add(ref bytes, offset);
        ulong middle = Unsafe.Add(ref bytes, offset + (count >> 1));
        ulong last = Unsafe.Add(ref bytes, length - 1);
        return ((first << 16) | (middle << 8) | last, 0);
    }

    private static ulong Fold(ulong left, ulong right)
    {
        ulong high = Math.BigMul(left, right, out ulong low);
        return high ^ low;
    }

    private static ulong Read8(ref byte bytes, nint offset) => Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref bytes, offset));

    private static ulong Read4(ref byte bytes, nint offset) => Unsafe.ReadUnaligned<uint>(ref Unsafe.Add(ref bytes, offset));
}
