using System.Diagnostics;
using System.Numerics;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// A set of paths, numbered in the order they were added. Open addressing over one blob of keys: about 40 bytes per path beside
/// the path itself, and a lookup touches a slot, an entry and the key. Filled by one thread, then only read, by any.
/// </summary>
/// <remarks>Keys start with '/' and end with a zero that their length does not count, so that one is a C string as it stands.</remarks>
internal sealed class PathTable
{
    /// <summary>What <see cref="Find"/> answers for a path that is not there.</summary>
    public const int Missing = -1;

    /// <summary>PATH_MAX, which counts a zero where a key has its leading '/': no path beyond can be opened through the root.</summary>
    public const int PathBytesMax = 4096;

    private const int SlotsMin = 16;

    private byte[] _keys = [];
    private int _keyBytes;
    private Entry[] _entries = [];
    private Slot[] _slots = new Slot[SlotsMin];
    private int _longestBytes;

    public int Count { get; private set; }

    /// <summary>The path of an entry, without its zero.</summary>
    public ReadOnlySpan<byte> PathAt(int index)
    {
        Entry entry = _entries[index];
        return _keys.AsSpan(entry.KeyOffset, entry.KeyBytes);
    }

    public PathKind KindAt(int index) => _entries[index].Kind;

    /// <summary>The path of an entry below the root, as the kernel takes it: no leading '/', a zero at its end.</summary>
    public ReadOnlySpan<byte> RelativePathZAt(int index)
    {
        Entry entry = _entries[index];
        Debug.Assert(entry.KeyBytes > 1, "the root has no path below itself");
        return _keys.AsSpan(entry.KeyOffset + 1, entry.KeyBytes);
    }

    /// <summary>The index of a path, or <see cref="Missing"/>.</summary>
    public int Find(ReadOnlySpan<byte> path)
    {
        // A hostile path of 8 KB is not worth hashing.
        return path.Length > _longestBytes ? Missing : FindHashed(path, PathHash.Of(path));
    }

    /// <summary>Adds a path and gives its index, or <see cref="Missing"/> where it is there already.</summary>
    public int Add(ReadOnlySpan<byte> path, PathKind kind)
    {
        Debug.Assert(path.Length <= PathBytesMax, "longer paths are not assets");
        ulong hash = PathHash.Of(path);
        if (FindHashed(path, hash) != Missing)
        {
            return Missing;
        }

        Reserve(path.Length + 1);
        int index = Count++;
        path.CopyTo(_keys.AsSpan(_keyBytes));
        _entries[index] = new Entry { KeyOffset = _keyBytes, KeyBytes = (ushort)path.Length, Kind = kind };
        _keyBytes += path.Length + 1;
        _longestBytes = Math.Max(_longestBytes, path.Length);
        Place(_slots, hash, index);
        return index;
    }

    /// <summary>Gives back what growing by doubling took too much. Called once, when the table is full.</summary>
    public void Trim()
    {
        Array.Resize(ref _keys, _keyBytes);
        Array.Resize(ref _entries, Count);
    }

    private int FindHashed(ReadOnlySpan<byte> path, ulong hash)
    {
        Slot[] slots = _slots;
        uint tag = TagOf(hash);
        int mask = slots.Length - 1;
        for (int i = (int)hash & mask; ; i = (i + 1) & mask)
        {
            Slot slot = slots[i];
            if (slot.IndexPlusOne == 0)
            {
                return Missing;
            }

            if (slot.Tag == tag && PathAt(slot.IndexPlusOne - 1).SequenceEqual(path))
            {
                return slot.IndexPlusOne - 1;
            }
        }
    }

    private void Reserve(int keyBytes)
    {
        int keyBytesNeeded = checked(_keyBytes + keyBytes);
        if (keyBytesNeeded > _keys.Length)
        {
            long doubled = Math.Max(256, 2L * _keys.Length);
            Array.Resize(ref _keys, (int)Math.Min(Math.Max(doubled, keyBytesNeeded), Array.MaxLength));
        }

        if (Count == _entries.Length)
        {
            Array.Resize(ref _entries, Math.Max(SlotsMin, 2 * _entries.Length));
        }

        // At most half full: then linear probing meets 1.5 slots for a hit and 2.5 for a miss, within one cache line.
        if (2 * (Count + 1) > _slots.Length)
        {
            Grow();
        }
    }

    private void Grow()
    {
        var slots = new Slot[BitOperations.RoundUpToPowerOf2((uint)_slots.Length + 1)];
        for (int i = 0; i < Count; i++)
        {
            Place(slots, PathHash.Of(PathAt(i)), i);
        }

        _slots = slots;
    }

    private static void Place(Slot[] slots, ulong hash, int index)
    {
        int mask = slots.Length - 1;
        int i = (int)hash & mask;
        while (slots[i].IndexPlusOne != 0)
        {
            i = (i + 1) & mask;
        }

        slots[i] = new Slot { Tag = TagOf(hash), IndexPlusOne = index + 1 };
    }

    private static uint TagOf(ulong hash) => (uint)(hash >> 32);

    private struct Slot
    {
        public uint Tag;
        public int IndexPlusOne;
    }

    private struct Entry
    {
        public int KeyOffset;
        public ushort KeyBytes;
        public PathKind Kind;
    }
}
