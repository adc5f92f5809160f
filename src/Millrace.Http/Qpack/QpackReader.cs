namespace Millrace.Http;

/// <summary>
/// Reads the integers and strings of one field section or instruction, RFC 9204 section 4.1. Stops at the first invalid one.
/// </summary>
/// <param name="input">The whole section or instruction.</param>
/// <param name="scratch">The memory that strings are decoded to; see <see cref="QpackDecoder.ScratchBytes"/>.</param>
internal ref struct QpackReader(ReadOnlySpan<byte> input, Span<byte> scratch)
{
    private readonly ReadOnlySpan<byte> _input = input;
    private readonly Span<byte> _scratch = scratch;
    private int _at;
    private int _scratchUsed;

    public readonly bool IsAtEnd => _at == _input.Length;

    /// <summary>The byte that the next representation begins with.</summary>
    public readonly byte First => _input[_at];

    public QpackResult ReadInteger(int prefixBits, out long value) => QpackInteger.Read(_input, prefixBits, ref _at, out value);

    /// <summary>
    /// A string literal with a prefix of some bits, the first of which says whether it is in Huffman code, section 4.1.2: a part of the
    /// input, or of the scratch memory until the next <see cref="Reuse"/>.
    /// </summary>
    public QpackResult ReadString(int prefixBits, out ReadOnlySpan<byte> text)
    {
        text = default;
        bool isCoded = _at < _input.Length && (_input[_at] & (1 << (prefixBits - 1))) != 0;
        QpackResult result = ReadInteger(prefixBits - 1, out long length);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        if (length > _input.Length - _at)
        {
            return QpackResult.Truncated;
        }

        ReadOnlySpan<byte> literal = _input.Slice(_at, (int)length);
        _at += (int)length;
        text = literal;
        return isCoded ? Decode(literal, out text) : QpackResult.Ok;
    }

    /// <summary>Copies a text that is about to move to the scratch memory.</summary>
    public ReadOnlySpan<byte> Keep(ReadOnlySpan<byte> text)
    {
        Span<byte> kept = _scratch.Slice(_scratchUsed, text.Length);
        text.CopyTo(kept);
        _scratchUsed += text.Length;
        return kept;
    }

    public void Reuse() => _scratchUsed = 0;

    private QpackResult Decode(ReadOnlySpan<byte> coded, out ReadOnlySpan<byte> text)
    {
        text = default;
        int bytes = HuffmanCode.Decode(coded, _scratch[_scratchUsed..]);
        if (bytes < 0)
        {
            return QpackResult.BadHuffman;
        }

        text = _scratch.Slice(_scratchUsed, bytes);
        _scratchUsed += bytes;
        return QpackResult.Ok;
    }
}
