namespace Millrace.Http;

/// <summary>
/// The dynamic table of one QPACK decoder, RFC 9204 section 3.2: entries have absolute indices, which count from the first insertion. It
/// allocates its maximum size once, with the first entry.
/// </summary>
/// <param name="bytesMax">The maximum capacity that the settings announce.</param>
internal sealed class QpackTable(int bytesMax)
{
    private DynamicTable _entries = new(bytesMax, sizeMax: 0);

    /// <summary>The number that bounds the encoding of insert counts, section 4.5.1.1.</summary>
    public long EntriesMax => bytesMax / DynamicTable.EntryOverheadBytes;

    /// <summary>The size that the encoder has chosen; 0 at first.</summary>
    public int Capacity => _entries.SizeMax;

    public int Size => _entries.Size;

    public int Count => _entries.Count;

    /// <summary>All insertions, including those of evicted entries.</summary>
    public long InsertCount { get; private set; }

    public bool TrySetCapacity(long capacity)
    {
        if (capacity > bytesMax)
        {
            return false;
        }

        _entries.Resize((int)capacity);
        return true;
    }

    /// <summary>
    /// Inserts an entry, and evicts others to make room. False if it is larger than the table. Neither text may be in the table's memory.
    /// </summary>
    public bool TryAdd(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int hpackIndex)
    {
        if ((long)name.Length + value.Length + DynamicTable.EntryOverheadBytes > Capacity)
        {
            return false;
        }

        _entries.Add(name, value, hpackIndex);
        InsertCount++;
        return true;
    }

    /// <summary>
    /// The entry with an absolute index. False if it was evicted, or has not been inserted. Valid until the next insertion.
    /// </summary>
    public bool TryGet(long index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value, out int hpackIndex)
    {
        // A negative index, and one that was not inserted yet, give an age that no entry has.
        long age = index < 0 ? -1 : InsertCount - 1 - index;
        return _entries.TryGet((int)Math.Clamp(age, -1, int.MaxValue), out name, out value, out hpackIndex);
    }
}
