namespace Millrace.Http;

/// <summary>Reads the integers and strings of one field block, RFC 7541 section 5. Stops at the first invalid one.</summary>
/// <param name="block">The whole block.</param>
/// <param name="scratch">The memory that strings are decoded to; see <see cref="HpackDecoder.ScratchBytes"/>.</param>
internal ref struct HpackReader(ReadOnlySpan<byte> block, Span<byte> scratch)
{
    private readonly ReadOnlySpan<byte> _block = block;
    private readonly Span<byte> _scratch = scratch;
    private int _at;
    private int _scratchUsed;

    public readonly bool IsAtEnd => _at == _block.Length;

    /// <summary>The byte that the next representation begins with.</summary>
    public readonly byte First => _block[_at];

    public HpackResult ReadInteger(int prefixBits, out int value) => HpackInteger.Read(_block, prefixBits, ref _at, out value);

    /// <summary>A string literal, section 5.2: a part of the block, or of the scratch memory until the next <see cref="Reuse"/>.</summary>
    public HpackResult ReadString(out ReadOnlySpan<byte> text)
    {
        text = default;
        bool isCoded = _at < _block.Length && _block[_at] >= 0x80;
        HpackResult result = ReadInteger(7, out int length);
        if (result != HpackResult.Ok)
        {
            return result;
        }

        if (length > _block.Length - _at)
        {
            return HpackResult.Truncated;
        }

        ReadOnlySpan<byte> literal = _block.Slice(_at, length);
        _at += length;
        text = literal;
        return isCoded ? Decode(literal, out text) : HpackResult.Ok;
    }

    /// <summary>Copies a text that is about to move to the scratch memory.</summary>
    public ReadOnlySpan<byte> Keep(ReadOnlySpan<byte> text)
    {
        Span<byte> kept = _scratch.Slice(_scratchUsed, text.Length);
        text.CopyTo(kept);
        _scratchUsed += text.Length;
        return kept;
    }

    /// <summary>Releases the scratch memory for the next field.</summary>
    public void Reuse() => _scratchUsed = 0;

    private HpackResult Decode(ReadOnlySpan<byte> coded, out ReadOnlySpan<byte> text)
    {
        text = default;
        int bytes = HuffmanCode.Decode(coded, _scratch[_scratchUsed..]);
        if (bytes < 0)
        {
            return HpackResult.BadHuffman;
        }

        text = _scratch.Slice(_scratchUsed, bytes);
        _scratchUsed += bytes;
        return HpackResult.Ok;
    }
}
