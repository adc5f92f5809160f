using System.Diagnostics;
using System.Numerics;

namespace Millrace.Http;

/// <summary>
/// The dynamic table of one decoder, RFC 7541 sections 2.3.2 and 4 (HPACK), and RFC 9204 section 3.2 (QPACK). It allocates its maximum size
/// once, with the first entry: entries are stored one after the other, and move to the start when the end is reached. So each entry is
/// contiguous, and moving 4 KiB occasionally costs less than joining pieces at every lookup.
/// </summary>
/// <param name="bytesMax">The maximum size.</param>
/// <param name="sizeMax">The size at first.</param>
internal struct DynamicTable(int bytesMax, int sizeMax)
{
    /// <summary>The overhead of an entry beyond its name and value, section 4.1; it also limits the number of entries.</summary>
    public const int EntryOverheadBytes = 32;

    private byte[]? _bytes;

    // Their number is a power of two.
    private Entry[]? _entries;
    private int _newest;

    // Positions increase without end and wrap around: of the entries, of the memory's first byte, and of the next entry.
    private int _base;
    private int _end;

    /// <summary>The size that the encoder has chosen; entries are evicted when it shrinks.</summary>
    public int SizeMax { get; private set; } = sizeMax;

    public int Size { get; private set; }

    public int Count { get; private set; }

    public void Resize(int size)
    {
        Debug.Assert(size >= 0 && size <= bytesMax);
        SizeMax = size;
        EvictTo(size);
    }

    /// <summary>
    /// Inserts an entry, and evicts others to make room. An entry that is too large for the table empties it and is not inserted, which is
    /// not an error (section 4.4). Neither text may be in the table's memory.
    /// </summary>
    public void Add(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        long size = (long)name.Length + value.Length + EntryOverheadBytes;
        EvictTo((int)Math.Max(SizeMax - size, 0));
        if (size > SizeMax)
        {
            return;
        }

        _bytes ??= new byte[bytesMax];
        _entries ??= new Entry[BitOperations.RoundUpToPowerOf2((uint)(bytesMax / EntryOverheadBytes))];
        int bytes = name.Length + value.Length;
        if (_bytes.Length - (_end - _base) < bytes)
        {
            Slide();
        }

        int at = _end - _base;
        name.CopyTo(_bytes.AsSpan(at));
        value.CopyTo(_bytes.AsSpan(at + name.Length));
        _newest = (_newest + 1) & (_entries.Length - 1);
        _entries[_newest] = new Entry(_end, name.Length, value.Length, (byte)staticIndex);
        _end += bytes;
        Size += (int)size;
        Count++;
        Debug.Assert(Size <= SizeMax && Count <= _entries.Length);
    }

    /// <summary>The entry that is <paramref name="age"/> insertions older than the newest. Valid until the next insertion.</summary>
    public readonly bool TryGet(int age, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value, out int staticIndex)
    {
        if ((uint)age >= (uint)Count)
        {
            name = value = default;
            staticIndex = 0;
            return false;
        }

        Entry entry = At(age);
        ReadOnlySpan<byte> text = _bytes.AsSpan(entry.Position - _base, entry.NameBytes + entry.ValueBytes);
        name = text[..entry.NameBytes];
        value = text[entry.NameBytes..];
        staticIndex = entry.StaticIndex;
        return true;
    }

    private readonly Entry At(int age) => _entries![(_newest - age) & (_entries.Length - 1)];

    private void EvictTo(int size)
    {
        while (Size > size)
        {
            Entry oldest = At(Count - 1);
            Size -= oldest.NameBytes + oldest.ValueBytes + EntryOverheadBytes;
            Count--;
        }
    }

    private void Slide()
    {
        int oldest = Count == 0 ? _end : At(Count - 1).Position;
        _bytes.AsSpan(oldest - _base, _end - oldest).CopyTo(_bytes);
        _base = oldest;
    }

    private readonly record struct Entry(int Position, int NameBytes, int ValueBytes, byte StaticIndex);
}
