namespace Millrace.Http;

/// <summary>
/// Decodes the field sections of one connection, RFC 9204: each complete, in any order, with the instructions of the peer's encoder stream
/// between them. It allocates the table's memory with the first entry, and little beside it. A section does not change the table, so that
/// one that is not needed may be dropped, with <see cref="Cancel"/>. After an error, which ends the connection, it must not be used again.
/// </summary>
internal sealed class QpackDecoder
{
    private readonly int _tableBytesMax;
    private readonly QpackTable _table;
    private readonly QpackInstructionReader _instructions;
    private QpackBlockedStreams _blocked;
    private QpackDecoderOutput _output = new();

    /// <summary>How many insertions the peer knows to have arrived, section 2.1.4.</summary>
    private long _knownInsertions;

    /// <param name="tableBytesMax">The SETTINGS_QPACK_MAX_TABLE_CAPACITY that this end announces.</param>
    /// <param name="blockedStreamsMax">The SETTINGS_QPACK_BLOCKED_STREAMS that this end announces.</param>
    public QpackDecoder(int tableBytesMax, int blockedStreamsMax)
    {
        _tableBytesMax = tableBytesMax;
        _table = new QpackTable(tableBytesMax);
        _instructions = new QpackInstructionReader(_table);
        _blocked = new QpackBlockedStreams(blockedStreamsMax);
    }

    /// <summary>The entries and the size of the table, for logs and tests.</summary>
    public (int Count, int Bytes) Table => (_table.Count, _table.Size);

    /// <summary>All insertions so far, including those of evicted entries.</summary>
    public long InsertCount => _table.InsertCount;

    /// <summary>The streams whose sections wait for insertions.</summary>
    public int BlockedStreams => _blocked.Count;

    /// <summary>Bytes of names and values in the last decoded section. One byte of a section can refer to an entry of 4 KB.</summary>
    public long DecodedBytes { get; private set; }

    /// <summary>The instructions for this end's decoder stream that are not written yet. Valid until the next call.</summary>
    public ReadOnlySpan<byte> Output => _output.Bytes;

    /// <summary>The memory beside the table and this object.</summary>
    public int HeldBytes => _instructions.HeldBytes + _output.HeldBytes;

    /// <summary>
    /// The scratch memory for sections of a maximum size, and for instructions. Many decoders of one thread can share it.
    /// </summary>
    public static int ScratchBytes(int tableBytesMax, int sectionBytes) =>
        Math.Max(QpackInstructionReader.ScratchBytes(tableBytesMax), HuffmanCode.DecodedBytesMax(sectionBytes));

    /// <summary>Decodes a section and passes its fields to a sink.</summary>
    /// <param name="streamId">The stream of the section.</param>
    /// <param name="section">The whole section.</param>
    /// <param name="scratch">Memory of at least <see cref="ScratchBytes"/>.</param>
    /// <param name="sink">Also receives the fields before an error or a limit.</param>
    /// <param name="decodedBytesMax">The limit on <see cref="DecodedBytes"/>, at which decoding stops.</param>
    /// <returns>
    /// Blocked: the caller keeps the section, and decodes it again when <see cref="TryTakeUnblocked"/> gives its stream. Ok and TooLarge:
    /// the peer will know that the section is done.
    /// </returns>
    public QpackResult Decode(
        long streamId, ReadOnlySpan<byte> section, Span<byte> scratch, IHpackSink? sink, long decodedBytesMax = long.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(scratch.Length, HuffmanCode.DecodedBytesMax(section.Length));
        DecodedBytes = 0;
        var reader = new QpackReader(section, scratch);
        QpackResult result = QpackSectionPrefix.Read(ref reader, _table, out QpackSectionPrefix prefix);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        if (prefix.RequiredInsertCount > _table.InsertCount)
        {
            return _blocked.TryAdd(streamId, prefix.RequiredInsertCount) ? QpackResult.Blocked : QpackResult.TooManyBlocked;
        }

        while (result == QpackResult.Ok && !reader.IsAtEnd)
        {
            reader.Reuse();
            result = DecodedBytes > decodedBytesMax ? QpackResult.TooLarge : ReadField(ref reader, prefix, sink);
        }

        return result is QpackResult.Ok or QpackResult.TooLarge ? Acknowledge(streamId, prefix, result) : result;
    }

    /// <summary>Takes all of some bytes of the peer's encoder stream.</summary>
    public QpackResult ReadInstructions(ReadOnlySpan<byte> bytes, Span<byte> scratch)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(scratch.Length, QpackInstructionReader.ScratchBytes(_tableBytesMax));
        return _instructions.Read(bytes, scratch);
    }

    /// <summary>A stream whose blocked section can be decoded now; it does not count as blocked any more.</summary>
    public bool TryTakeUnblocked(out long streamId) => _blocked.TryTake(_table.InsertCount, out streamId);

    /// <summary>
    /// Says that no section of a stream will be decoded any more: it was reset, or reading was abandoned (section 2.2.2.2). The peer may
    /// then evict what they refer to. Allowed for any stream.
    /// </summary>
    public QpackResult Cancel(long streamId)
    {
        _blocked.Remove(streamId);
        return _tableBytesMax == 0 || _output.TryCancelStream(streamId) ? QpackResult.Ok : QpackResult.OutputFull;
    }

    /// <summary>
    /// Says which insertions have arrived, unless sections have said it. Call it before <see cref="Output"/> is written, after all that was
    /// received: so one instruction does for many insertions.
    /// </summary>
    public QpackResult AcknowledgeInsertions()
    {
        long increment = _table.InsertCount - _knownInsertions;
        if (increment == 0)
        {
            return QpackResult.Ok;
        }

        _knownInsertions = _table.InsertCount;
        return _output.TryIncrement(increment) ? QpackResult.Ok : QpackResult.OutputFull;
    }

    /// <summary>Takes away what was written of <see cref="Output"/>.</summary>
    public void Advance(int written) => _output.Advance(written);

    /// <summary>Sections 2.1.4 and 2.2.2.1: a section that referred to the table acknowledges the insertions that it needed.</summary>
    private QpackResult Acknowledge(long streamId, in QpackSectionPrefix prefix, QpackResult result)
    {
        if (prefix.RequiredInsertCount == 0)
        {
            return result;
        }

        _knownInsertions = Math.Max(_knownInsertions, prefix.RequiredInsertCount);
        return _output.TryAcknowledgeSection(streamId) ? result : QpackResult.OutputFull;
    }

    private QpackResult ReadField(ref QpackReader reader, in QpackSectionPrefix prefix, IHpackSink? sink)
    {
        byte first = reader.First;
        return first switch
        {
            >= 0x80 => ReadIndexed(ref reader, prefixBits: 6, (first & 0x40) != 0 ? Origin.Static : Origin.Base, prefix, sink),
            >= 0x40 => ReadWithNameReference(ref reader, prefixBits: 4, (first & 0x10) != 0 ? Origin.Static : Origin.Base, prefix, sink),
            >= 0x20 => ReadWithName(ref reader, sink),
            >= 0x10 => ReadIndexed(ref reader, prefixBits: 4, Origin.PostBase, prefix, sink),
            _ => ReadWithNameReference(ref reader, prefixBits: 3, Origin.PostBase, prefix, sink),
        };
    }

    private QpackResult ReadIndexed(ref QpackReader reader, int prefixBits, Origin origin, in QpackSectionPrefix prefix, IHpackSink? sink)
    {
        QpackResult result = reader.ReadInteger(prefixBits, out long index);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        result = Find(origin, index, prefix, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value, out int hpackIndex);
        return result == QpackResult.Ok ? Give(name, value, hpackIndex, sink) : result;
    }

    private QpackResult ReadWithNameReference(
        ref QpackReader reader, int prefixBits, Origin origin, in QpackSectionPrefix prefix, IHpackSink? sink)
    {
        QpackResult result = reader.ReadInteger(prefixBits, out long index);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        result = Find(origin, index, prefix, out ReadOnlySpan<byte> name, out _, out int hpackIndex);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        result = reader.ReadString(prefixBits: 8, out ReadOnlySpan<byte> value);
        return result == QpackResult.Ok ? Give(name, value, hpackIndex, sink) : result;
    }

    private QpackResult ReadWithName(ref QpackReader reader, IHpackSink? sink)
    {
        QpackResult result = reader.ReadString(prefixBits: 4, out ReadOnlySpan<byte> name);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        result = reader.ReadString(prefixBits: 8, out ReadOnlySpan<byte> value);
        return result == QpackResult.Ok ? Give(name, value, hpackIndex: 0, sink) : result;
    }

    private QpackResult Give(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int hpackIndex, IHpackSink? sink)
    {
        DecodedBytes += name.Length + value.Length;
        sink?.OnField(name, value, hpackIndex);
        return QpackResult.Ok;
    }

    /// <summary>Section 2.2.3: what the section's insert count does not cover is refused even if it has arrived.</summary>
    private QpackResult Find(
        Origin origin,
        long index,
        in QpackSectionPrefix prefix,
        out ReadOnlySpan<byte> name,
        out ReadOnlySpan<byte> value,
        out int hpackIndex)
    {
        if (origin == Origin.Static)
        {
            bool isKnown = index < QpackStaticTable.Count;
            name = isKnown ? QpackStaticTable.Name((int)index) : default;
            value = isKnown ? QpackStaticTable.Value((int)index) : default;
            hpackIndex = isKnown ? QpackStaticTable.HpackIndex((int)index) : 0;
            return isKnown ? QpackResult.Ok : QpackResult.BadIndex;
        }

        long absolute = origin == Origin.Base ? prefix.Base - 1 - index : prefix.Base + index;
        bool isFound = _table.TryGet(absolute, out name, out value, out hpackIndex);
        return isFound && absolute < prefix.RequiredInsertCount ? QpackResult.Ok : QpackResult.BadReference;
    }

    /// <summary>What an index counts from, sections 3.1, 3.2.5 and 3.2.6.</summary>
    private enum Origin : byte
    {
        Static,
        Base,
        PostBase,
    }
}
