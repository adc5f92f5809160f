using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Carries out the instructions of a peer's encoder stream on the dynamic table, RFC 9204 section 4.3, from pieces of any size. An
/// instruction that comes in pieces is kept until it is complete; it is not larger than an entry can be.
/// </summary>
internal sealed class QpackInstructionReader(QpackTable table)
{
    /// <summary>A copy that is larger is returned to the collector when its instruction is complete.</summary>
    private const int KeptBytesMax = 1024;

    /// <summary>
    /// How much entries may have for each byte received. A byte can copy an entry of kilobytes, without any request; encoders that keep a
    /// large entry from being evicted do so once per generation of the table, and pay with other entries.
    /// </summary>
    private const int EntryBytesPerByte = 32;

    /// <summary>What may be copied beyond that.</summary>
    private const long CreditBytesMax = 64 * 1024;

    private byte[] _partial = [];
    private int _partialBytes;
    private long _creditBytes = CreditBytesMax;

    /// <summary>The memory that it holds.</summary>
    public int HeldBytes => _partial.Length;

    /// <summary>
    /// The maximum scratch memory for an instruction: both strings in the longest code of an entry, or copies of an entry.
    /// </summary>
    public static int ScratchBytes(int tableBytesMax) =>
        tableBytesMax + (2 * HuffmanCode.DecodedBytesMax(HuffmanCode.EncodedBytesMax(tableBytesMax)));

    /// <summary>Takes all of the bytes.</summary>
    public QpackResult Read(ReadOnlySpan<byte> bytes, Span<byte> scratch)
    {
        while (!bytes.IsEmpty)
        {
            QpackResult result = _partialBytes == 0 ? ReadWhole(ref bytes, scratch) : ReadPartial(ref bytes, scratch);
            if (result != QpackResult.Ok)
            {
                return result;
            }
        }

        return QpackResult.Ok;
    }

    /// <summary>Reads an instruction that may be whole in the input; otherwise its beginning is kept.</summary>
    private QpackResult ReadWhole(ref ReadOnlySpan<byte> bytes, Span<byte> scratch)
    {
        QpackResult result = Measure(bytes, out int needed);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        if (needed > bytes.Length)
        {
            Keep(bytes);
            bytes = default;
            return QpackResult.Ok;
        }

        result = Apply(bytes[..needed], scratch);
        bytes = bytes[needed..];
        return result;
    }

    /// <summary>Completes an instruction whose beginning is kept.</summary>
    private QpackResult ReadPartial(ref ReadOnlySpan<byte> bytes, Span<byte> scratch)
    {
        while (true)
        {
            QpackResult result = Measure(_partial.AsSpan(0, _partialBytes), out int needed);
            if (result != QpackResult.Ok)
            {
                return result;
            }

            int missing = needed - _partialBytes;
            if (missing == 0)
            {
                result = Apply(_partial.AsSpan(0, needed), scratch);
                _partialBytes = 0;
                _partial = _partial.Length > KeptBytesMax ? [] : _partial;
                return result;
            }

            if (bytes.IsEmpty)
            {
                return QpackResult.Ok;
            }

            int count = Math.Min(missing, bytes.Length);
            Keep(bytes[..count]);
            bytes = bytes[count..];
        }
    }

    /// <summary>The memory grows with what has come, not with what was announced.</summary>
    private void Keep(ReadOnlySpan<byte> bytes)
    {
        int size = _partialBytes + bytes.Length;
        if (size > _partial.Length)
        {
            Array.Resize(ref _partial, Math.Max(size, Math.Max(64, 2 * _partial.Length)));
        }

        bytes.CopyTo(_partial.AsSpan(_partialBytes));
        _partialBytes = size;
    }

    /// <summary>
    /// Says how many bytes an instruction has, or at least has if its beginning is all there is: then more than there are. Refuses strings
    /// that no entry can have before they are read.
    /// </summary>
    private QpackResult Measure(ReadOnlySpan<byte> bytes, out int needed)
    {
        int at = 0;
        bool hasValue = bytes[0] >= 0x40;
        QpackResult result = bytes[0] switch
        {
            >= 0x80 => QpackInteger.Read(bytes, prefixBits: 6, ref at, out _),
            >= 0x40 => SkipString(bytes, prefixBits: 6, ref at),
            _ => QpackInteger.Read(bytes, prefixBits: 5, ref at, out _),
        };
        if (result == QpackResult.Ok && hasValue && at <= bytes.Length)
        {
            result = SkipString(bytes, prefixBits: 8, ref at);
        }

        // Within an integer, or before it, at least one byte is missing.
        needed = result == QpackResult.Truncated ? bytes.Length + 1 : at;
        return result == QpackResult.Truncated ? QpackResult.Ok : result;
    }

    private QpackResult SkipString(ReadOnlySpan<byte> bytes, int prefixBits, ref int at)
    {
        bool isCoded = at < bytes.Length && (bytes[at] & (1 << (prefixBits - 1))) != 0;
        QpackResult result = QpackInteger.Read(bytes, prefixBits - 1, ref at, out long length);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        int textMax = table.Capacity - DynamicTable.EntryOverheadBytes;
        if (textMax < 0 || length > (isCoded ? HuffmanCode.EncodedBytesMax(textMax) : textMax))
        {
            return QpackResult.EntryTooLarge;
        }

        at += (int)length;
        return QpackResult.Ok;
    }

    private QpackResult Apply(ReadOnlySpan<byte> instruction, Span<byte> scratch)
    {
        _creditBytes = Math.Min(_creditBytes + ((long)instruction.Length * EntryBytesPerByte), CreditBytesMax);
        var reader = new QpackReader(instruction, scratch);
        QpackResult result = reader.First switch
        {
            >= 0x80 => InsertWithNameReference(ref reader, isStatic: (reader.First & 0x40) != 0),
            >= 0x40 => InsertWithName(ref reader),
            >= 0x20 => SetCapacity(ref reader),
            _ => Duplicate(ref reader),
        };
        Debug.Assert(result != QpackResult.Ok || reader.IsAtEnd);
        return result;
    }

    private QpackResult SetCapacity(ref QpackReader reader)
    {
        QpackResult result = reader.ReadInteger(prefixBits: 5, out long capacity);
        return result != QpackResult.Ok ? result
            : table.TrySetCapacity(capacity) ? QpackResult.Ok
            : QpackResult.BadCapacity;
    }

    private QpackResult InsertWithNameReference(ref QpackReader reader, bool isStatic)
    {
        QpackResult result = reader.ReadInteger(prefixBits: 6, out long index);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        ReadOnlySpan<byte> name;
        int hpackIndex;
        if (isStatic)
        {
            if (index >= QpackStaticTable.Count)
            {
                return QpackResult.BadIndex;
            }

            name = QpackStaticTable.Name((int)index);
            hpackIndex = QpackStaticTable.HpackIndex((int)index);
        }
        else if (table.TryGet(table.InsertCount - 1 - index, out name, out _, out hpackIndex))
        {
            // Section 3.2.2: the entry that the name refers to may be evicted by the insertion.
            name = reader.Keep(name);
        }
        else
        {
            return QpackResult.BadReference;
        }

        result = reader.ReadString(prefixBits: 8, out ReadOnlySpan<byte> value);
        return result == QpackResult.Ok ? Add(name, value, hpackIndex) : result;
    }

    private QpackResult InsertWithName(ref QpackReader reader)
    {
        QpackResult result = reader.ReadString(prefixBits: 6, out ReadOnlySpan<byte> name);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        result = reader.ReadString(prefixBits: 8, out ReadOnlySpan<byte> value);
        return result == QpackResult.Ok ? Add(name, value, hpackIndex: 0) : result;
    }

    private QpackResult Duplicate(ref QpackReader reader)
    {
        QpackResult result = reader.ReadInteger(prefixBits: 5, out long index);
        return result != QpackResult.Ok ? result
            : table.TryGet(table.InsertCount - 1 - index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value, out int hpackIndex)
                ? Add(reader.Keep(name), reader.Keep(value), hpackIndex)
            : QpackResult.BadReference;
    }

    private QpackResult Add(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int hpackIndex)
    {
        _creditBytes -= name.Length + value.Length + DynamicTable.EntryOverheadBytes;
        return _creditBytes < 0 ? QpackResult.Flood
            : table.TryAdd(name, value, hpackIndex) ? QpackResult.Ok
            : QpackResult.EntryTooLarge;
    }
}
