using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// The Huffman code of HPACK and QPACK, RFC 7541 section 5.2 and appendix B. It is canonical: codes of one length are consecutive in the
/// order of their symbols, so the lengths determine the code.
/// </summary>
/// <remarks>
/// Decoding looks up the next ten bits; the codes of text have at most eight. Longer codes are found by their length: the codes of one
/// length, aligned to the left, are a range of numbers, and the ranges are in the order of the lengths.
/// </remarks>
internal static class HuffmanCode
{
    /// <summary>EOS, which is never sent: only its first bits are used as padding.</summary>
    private const int Eos = 256;

    private const int Symbols = 257;
    private const int CodeBitsMin = 5;
    private const int CodeBitsMax = 30;
    private const int LookupBits = 10;

    private static readonly Tables Derived = new();

    /// <summary>The length of each symbol's code, with EOS last: the last column of appendix B.</summary>
    private static ReadOnlySpan<byte> LengthBits =>
    [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ];

    /// <summary>No string decodes to more: the shortest codes have five bits.</summary>
    public static int DecodedBytesMax(int encodedBytes) => (int)(encodedBytes * 8L / CodeBitsMin);

    /// <summary>No text takes more, however unusual its bytes.</summary>
    public static int EncodedBytesMax(int textBytes) => (int)(((textBytes * (long)CodeBitsMax) + 7) / 8);

    public static int EncodedBytes(ReadOnlySpan<byte> text)
    {
        long bits = 0;
        foreach (byte symbol in text)
        {
            bits += LengthBits[symbol];
        }

        return (int)((bits + 7) / 8);
    }

    /// <summary>Encodes a text and pads its last byte with the beginning of EOS. Returns the number of bytes.</summary>
    public static int Encode(ReadOnlySpan<byte> text, Span<byte> destination)
    {
        ulong bits = 0;
        int count = 0;
        int written = 0;
        uint[] codes = Derived.Codes;
        foreach (byte symbol in text)
        {
            int length = LengthBits[symbol];
            bits = (bits << length) | codes[symbol];
            for (count += length; count >= 8; count -= 8)
            {
                destination[written++] = (byte)(bits >> (count - 8));
            }
        }

        if (count > 0)
        {
            destination[written++] = (byte)((bits << (8 - count)) | (0xFFU >> count));
        }

        return written;
    }

    /// <summary>
    /// Decodes a string into a destination of <see cref="DecodedBytesMax"/> bytes or more. Returns the number of bytes, or -1 for EOS and
    /// for padding that is not less than a byte of ones.
    /// </summary>
    public static int Decode(ReadOnlySpan<byte> encoded, Span<byte> destination)
    {
        ulong bits = 0;
        int count = 0;
        int at = 0;
        int written = 0;
        while (true)
        {
            if (count < CodeBitsMax)
            {
                Refill(encoded, ref at, ref bits, ref count);
            }

            int symbol = Next(bits, out int length);
            if (length > count)
            {
                // All bits have been read. Zeros fill the word, so no complete code can seem longer than it is.
                return IsPadding(bits, count) ? written : -1;
            }

            if (symbol == Eos)
            {
                return -1;
            }

            destination[written++] = (byte)symbol;
            bits <<= length;
            count -= length;
        }
    }

    private static void Refill(ReadOnlySpan<byte> encoded, ref int at, ref ulong bits, ref int count)
    {
        if (encoded.Length - at >= sizeof(uint))
        {
            bits |= (ulong)BinaryPrimitives.ReadUInt32BigEndian(encoded[at..]) << (32 - count);
            at += sizeof(uint);
            count += 32;
            return;
        }

        for (; at < encoded.Length && count <= 56; count += 8)
        {
            bits |= (ulong)encoded[at++] << (56 - count);
        }
    }

    private static int Next(ulong bits, out int length)
    {
        Tables tables = Derived;
        int entry = tables.Lookup[bits >> (64 - LookupBits)];
        if (entry != 0)
        {
            length = entry & 0xF;
            return entry >> 4;
        }

        uint code = (uint)(bits >> 32);
        length = LookupBits + 1;
        while (code >= tables.End[length])
        {
            // Terminates: no code is longer than the longest ones.
            length++;
        }

        return tables.SymbolsByCode[tables.FirstPlace[length] + (int)((code - tables.First[length]) >> (32 - length))];
    }

    private static bool IsPadding(ulong bits, int count) => count < 8 && bits >> 56 == (0xFF00UL >> count & 0xFF);

    /// <summary>The tables derived from the lengths.</summary>
    private sealed class Tables
    {
        public Tables()
        {
            uint code = 0;
            int place = 0;
            for (int bits = CodeBitsMin; bits <= CodeBitsMax; bits++)
            {
                code <<= 1;
                First[bits] = code << (32 - bits);
                FirstPlace[bits] = place;
                for (int symbol = 0; symbol < Symbols; symbol++)
                {
                    if (LengthBits[symbol] == bits)
                    {
                        SymbolsByCode[place++] = (ushort)symbol;
                        Codes[symbol] = code++;
                    }
                }

                End[bits] = (ulong)code << (32 - bits);
                FillLookup(bits, FirstPlace[bits], place);
            }

            Debug.Assert(code == 1U << CodeBitsMax && place == Symbols);
        }

        /// <summary>By symbol, aligned to the right.</summary>
        public uint[] Codes { get; } = new uint[Symbols];

        /// <summary>Symbol and length, by the next ten bits; 0 for the beginning of a longer code.</summary>
        public ushort[] Lookup { get; } = new ushort[1 << LookupBits];

        /// <summary>By length: the first code, aligned to the left in 32 bits.</summary>
        public uint[] First { get; } = new uint[CodeBitsMax + 1];

        /// <summary>By length: one past the last code, aligned to the left in 32 bits.</summary>
        public ulong[] End { get; } = new ulong[CodeBitsMax + 1];

        /// <summary>By length: where in <see cref="SymbolsByCode"/> the first code has its symbol.</summary>
        public int[] FirstPlace { get; } = new int[CodeBitsMax + 1];

        public ushort[] SymbolsByCode { get; } = new ushort[Symbols];

        private void FillLookup(int bits, int from, int to)
        {
            if (bits > LookupBits)
            {
                return;
            }

            for (int place = from; place < to; place++)
            {
                int symbol = SymbolsByCode[place];
                int start = (int)(Codes[symbol] << (LookupBits - bits));
                Lookup.AsSpan(start, 1 << (LookupBits - bits)).Fill((ushort)((symbol << 4) | bits));
            }
        }
    }
}
