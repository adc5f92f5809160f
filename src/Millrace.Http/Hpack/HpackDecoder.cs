namespace Millrace.Http;

/// <summary>
/// Decodes the field blocks of one connection, RFC 7541, each whole (HEADERS and its CONTINUATION frames put together) and in the
/// order they came, those of refused streams too (<see cref="DroppedFields"/>). Apart from the table's memory, taken with the first
/// entry, it allocates nothing. After any result but Ok it must not be used again.
/// </summary>
internal sealed class HpackDecoder
{
    /// <summary>What every connection starts with, RFC 9113 section 6.5.2.</summary>
    public const int DefaultTableBytes = 4096;

    private readonly int _announcedBytes;
    private readonly int _capacity;
    private DynamicTable _table;
    private int _tableBytesMax = DefaultTableBytes;
    private bool _isUpdateDue;

    /// <param name="tableBytesMax">The SETTINGS_HEADER_TABLE_SIZE that the peer is told, or the default where it is told none.</param>
    public HpackDecoder(int tableBytesMax = DefaultTableBytes)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(tableBytesMax);
        _announcedBytes = tableBytesMax;
        _capacity = Math.Max(tableBytesMax, DefaultTableBytes);
        _table = new DynamicTable(_capacity);
        _table.Resize(DefaultTableBytes);
    }

    /// <summary>The entries and the size of the table, for logs and tests.</summary>
    public (int Count, int Bytes) Table => (_table.Count, _table.Size);

    /// <summary>How much scratch memory a block needs at most.</summary>
    public int ScratchBytes(int blockBytes) => HuffmanCode.DecodedBytesMax(blockBytes) + _capacity;

    /// <summary>The peer has acknowledged our SETTINGS: from here on the announced limit holds.</summary>
    public void OnSettingsAcknowledged()
    {
        _isUpdateDue |= _announcedBytes < _table.SizeMax;
        _tableBytesMax = _announcedBytes;
    }

    /// <summary>Decodes a block and hands its fields to a sink.</summary>
    /// <param name="block">The whole block. It may be empty.</param>
    /// <param name="scratch">Memory of at least <see cref="ScratchBytes"/>, which many decoders of one thread can share.</param>
    /// <param name="sink">Is given the fields before a mistake too.</param>
    public HpackResult Decode<TSink>(ReadOnlySpan<byte> block, Span<byte> scratch, ref TSink sink)
        where TSink : IHpackSink, allows ref struct
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(scratch.Length, ScratchBytes(block.Length));
        var reader = new HpackReader(block, scratch);
        HpackResult result = ReadSizeUpdates(ref reader);
        while (result == HpackResult.Ok && !reader.IsAtEnd)
        {
            reader.Reuse();
            result = reader.First switch
            {
                >= 0x80 => ReadIndexed(ref reader, ref sink),
                >= 0x40 => ReadLiteral(ref reader, prefixBits: 6, ref sink),
                >= 0x20 => HpackResult.BadSizeUpdate,
                _ => ReadLiteral(ref reader, prefixBits: 4, ref sink),
            };
        }

        return result;
    }

    /// <summary>Section 4.2: only at the start of a block, and more than one where the size changed more than once meanwhile.</summary>
    private HpackResult ReadSizeUpdates(ref HpackReader reader)
    {
        while (!reader.IsAtEnd && (reader.First & 0xE0) == 0x20)
        {
            HpackResult result = reader.ReadInteger(prefixBits: 5, out int sizeMax);
            if (result != HpackResult.Ok)
            {
                return result;
            }

            if (sizeMax > _tableBytesMax)
            {
                return HpackResult.BadSizeUpdate;
            }

            _table.Resize(sizeMax);
            _isUpdateDue = false;
        }

        return _isUpdateDue ? HpackResult.MissingSizeUpdate : HpackResult.Ok;
    }

    private HpackResult ReadIndexed<TSink>(ref HpackReader reader, ref TSink sink)
        where TSink : IHpackSink, allows ref struct
    {
        HpackResult result = reader.ReadInteger(prefixBits: 7, out int index);
        if (result != HpackResult.Ok)
        {
            return result;
        }

        if (!TryFind(index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value, out int staticIndex))
        {
            return HpackResult.BadIndex;
        }

        sink.OnField(name, value, FieldSensitivity.Plain, staticIndex);
        return HpackResult.Ok;
    }

    /// <summary>A literal whose name's index has a prefix of 6 bits is inserted; one of 4 bits is not, or must never be.</summary>
    private HpackResult ReadLiteral<TSink>(ref HpackReader reader, int prefixBits, ref TSink sink)
        where TSink : IHpackSink, allows ref struct
    {
        bool isInserted = prefixBits == 6;
        bool isNeverIndexed = !isInserted && (reader.First & 0x10) != 0;
        HpackResult result = reader.ReadInteger(prefixBits, out int index);
        ReadOnlySpan<byte> name = default;
        int staticIndex = 0;
        if (result == HpackResult.Ok)
        {
            result = index == 0 ? reader.ReadString(out name)
                : TryFind(index, out name, out _, out staticIndex) ? HpackResult.Ok
                : HpackResult.BadIndex;
        }

        if (result != HpackResult.Ok)
        {
            return result;
        }

        result = reader.ReadString(out ReadOnlySpan<byte> value);
        if (result != HpackResult.Ok)
        {
            return result;
        }

        sink.OnField(name, value, isNeverIndexed ? FieldSensitivity.NeverIndexed : FieldSensitivity.Plain, staticIndex);
        if (isInserted)
        {
            // Section 4.4: the entry that lends its name may go to make room.
            _table.Add(index > StaticTable.Count ? reader.Keep(name) : name, value, staticIndex);
        }

        return HpackResult.Ok;
    }

    private bool TryFind(int index, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value, out int staticIndex)
    {
        if (index - 1 is >= 0 and < StaticTable.Count)
        {
            name = StaticTable.Name(index);
            value = StaticTable.Value(index);
            staticIndex = StaticTable.FirstWith(index);
            return true;
        }

        return _table.TryGet(index - 1 - StaticTable.Count, out name, out value, out staticIndex);
    }
}
