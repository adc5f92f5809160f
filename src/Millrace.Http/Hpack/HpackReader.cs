using System.Diagnostics;

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

/// <summary>Integers that begin within a byte, RFC 7541 section 5.1: a prefix of some bits, and 7 bits in each following byte.</summary>
internal static class HpackInteger
{
    /// <summary>Five bytes contain 35 bits, and so any int; further bytes could only be zeros, or too much.</summary>
    private const int ContinuationBytesMax = 5;

    /// <summary>The maximum size of an int, whatever its prefix.</summary>
    public const int BytesMax = 1 + ContinuationBytesMax;

    /// <summary>Reads the integer at <paramref name="at"/>, which moves after it.</summary>
    public static HpackResult Read(ReadOnlySpan<byte> input, int prefixBits, ref int at, out int value)
    {
        Debug.Assert(prefixBits is >= 1 and <= 8);
        value = 0;
        if (at >= input.Length)
        {
            return HpackResult.Truncated;
        }

        int prefixMax = (1 << prefixBits) - 1;
        value = input[at++] & prefixMax;
        return value < prefixMax ? HpackResult.Ok : ReadRest(input, ref at, ref value);
    }

    /// <summary>Writes a value below the bits that <paramref name="pattern"/> has above the prefix. Returns the number of bytes.</summary>
    public static int Write(Span<byte> destination, byte pattern, int prefixBits, int value)
    {
        int prefixMax = (1 << prefixBits) - 1;
        Debug.Assert(value >= 0 && (pattern & prefixMax) == 0);
        if (value < prefixMax)
        {
            destination[0] = (byte)(pattern | value);
            return 1;
        }

        destination[0] = (byte)(pattern | prefixMax);
        int bytes = 1;
        for (value -= prefixMax; value >= 0x80; value >>= 7)
        {
            destination[bytes++] = (byte)(value | 0x80);
        }

        destination[bytes++] = (byte)value;
        return bytes;
    }

    private static HpackResult ReadRest(ReadOnlySpan<byte> input, ref int at, ref int value)
    {
        long sum = value;
        for (int shift = 0; shift < 7 * ContinuationBytesMax; shift += 7)
        {
            if (at >= input.Length)
            {
                return HpackResult.Truncated;
            }

            byte next = input[at++];
            sum += (long)(next & 0x7F) << shift;
            if (next < 0x80)
            {
                value = (int)Math.Min(sum, int.MaxValue);
                return sum > int.MaxValue ? HpackResult.IntegerOverflow : HpackResult.Ok;
            }
        }

        return HpackResult.IntegerOverflow;
    }
}
