namespace Millrace.Http;

/// <summary>
/// Decodes the field blocks of one connection, RFC 7541: each complete (HEADERS and its CONTINUATION frames joined), in order of arrival,
/// including those of refused streams, whose fields no sink receives. It allocates only the table's memory, with the first entry. After any
/// result but Ok it must not be used again.
/// </summary>
internal sealed class HpackDecoder
{
    /// <summary>The initial table size of every connection, RFC 9113 section 6.5.2. The server announces no other.</summary>
    public const int TableBytesMax = 4096;

    private DynamicTable _table = new(TableBytesMax, TableBytesMax);

    /// <summary>The entries and the size of the table, for logs and tests.</summary>
    public (int Count, int Bytes) Table => (_table.Count, _table.Size);

    /// <summary>Bytes of names and values in the last decoded block. One byte of a block can refer to an entry of 4 KB.</summary>
    public long DecodedBytes { get; private set; }

    /// <summary>The maximum scratch memory for a block.</summary>
    public static int ScratchBytes(int blockBytes) => HuffmanCode.DecodedBytesMax(blockBytes) + TableBytesMax;

    /// <summary>Decodes a block and passes its fields to a sink.</summary>
    /// <param name="block">The whole block. It may be empty.</param>
    /// <param name="scratch">Memory of at least <see cref="ScratchBytes"/>, which many decoders of one thread can share.</param>
    /// <param name="sink">
    /// Also receives the fields before an error. Null for a block that is not needed: that of a refused or reset stream still changes the
    /// table (RFC 9113 section 4.3).
    /// </param>
    /// <param name="decodedBytesMax">The limit on <see cref="DecodedBytes"/>, at which decoding stops.</param>
    public HpackResult Decode(
        ReadOnlySpan<byte> block, Span<byte> scratch, IHpackSink? sink, long decodedBytesMax = long.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(scratch.Length, ScratchBytes(block.Length));
        var reader = new HpackReader(block, scratch);
        DecodedBytes = 0;
        HpackResult result = ReadSizeUpdates(ref reader);
        while (result == HpackResult.Ok && !reader.IsAtEnd)
        {
            reader.Reuse();
            result = DecodedBytes > decodedBytesMax ? HpackResult.TooLarge : reader.First switch
            {
                >= 0x80 => ReadIndexed(ref reader, sink),
                >= 0x40 => ReadLiteral(ref reader, prefixBits: 6, sink),
                >= 0x20 => HpackResult.BadSizeUpdate,
                _ => ReadLiteral(ref reader, prefixBits: 4, sink),
            };
        }

        return result;
    }

    /// <summary>Section 4.2: only at the start of a block, and more than one if the size changed repeatedly.</summary>
    private HpackResult ReadSizeUpdates(ref HpackReader reader)
    {
        while (!reader.IsAtEnd && (reader.First & 0xE0) == 0x20)
        {
            HpackResult result = reader.ReadInteger(prefixBits: 5, out int sizeMax);
            if (result != HpackResult.Ok)
            {
                return result;
            }

            if (sizeMax > TableBytesMax)
            {
                return HpackResult.BadSizeUpdate;
            }

            _table.Resize(sizeMax);
        }

        return HpackResult.Ok;
    }

    private HpackResult ReadIndexed(ref HpackReader reader, IHpackSink? sink)
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

        DecodedBytes += name.Length + value.Length;
        sink?.OnField(name, value, staticIndex);
        return HpackResult.Ok;
    }

    /// <summary>A literal whose name index has a prefix of 6 bits is inserted; one of 4 bits is not.</summary>
    private HpackResult ReadLiteral(ref HpackReader reader, int prefixBits, IHpackSink? sink)
    {
        bool isInserted = prefixBits == 6;
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

        DecodedBytes += name.Length + value.Length;
        sink?.OnField(name, value, staticIndex);
        if (isInserted)
        {
            // Section 4.4: the entry that the name refers to may be evicted by the insertion.
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

/// <summary>
/// The result for a field block. All but Ok end the connection, with COMPRESSION_ERROR (RFC 9113 section 4.3) or, for TooLarge,
/// ENHANCE_YOUR_CALM, because the state of the table is then unknown.
/// </summary>
internal enum HpackResult : byte
{
    Ok,

    /// <summary>The block ends within a representation.</summary>
    Truncated,

    /// <summary>An integer above 2^31-1, or with more than five bytes after its prefix (RFC 7541 section 5.1).</summary>
    IntegerOverflow,

    /// <summary>Index 0, or one beyond both tables (sections 2.3.3 and 6.1).</summary>
    BadIndex,

    /// <summary>A string that contains EOS, or whose padding is longer than 7 bits or not all ones (section 5.2).</summary>
    BadHuffman,

    /// <summary>A size above the limit, or after a field (sections 4.2 and 6.3).</summary>
    BadSizeUpdate,

    /// <summary>Its fields exceed the caller's limit; it was not decoded to its end.</summary>
    TooLarge,
}

/// <summary>
/// Receives the fields of a block from <see cref="HpackDecoder"/>, or of a section from <see cref="QpackDecoder"/>. A sink that refuses
/// must remember that and drop the following fields: a block is always decoded to its end, or HPACK's table would differ from the
/// encoder's.
/// </summary>
internal interface IHpackSink
{
    /// <param name="name">The name as sent. Name and value are valid only during the call.</param>
    /// <param name="value">The value.</param>
    /// <param name="staticIndex">
    /// The first entry of HPACK's static table with this name, if the encoder used an entry of a static table; otherwise 0.
    /// </param>
    void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex);
}
