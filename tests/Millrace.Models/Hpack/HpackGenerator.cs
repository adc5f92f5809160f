using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>Makes field blocks: representations of all kinds, with indices and sizes at the edges, some of them broken.</summary>
internal static class HpackGenerator
{
    private static readonly string[] Names =
        [":method", ":path", "cookie", "x", "", "accept", "x-a-rather-long-name-that-takes-room", "content-length", "te"];

    public static byte[] Any(Random random)
    {
        var block = new List<byte>();
        for (int updates = random.Next(4) == 0 ? random.Next(1, 3) : 0; updates > 0; updates--)
        {
            Integer(block, 0x20, 5, random.Pick(0, 31, 32, 100, 128, 1000, 4095, 4096, 4096, 4096, 4097));
        }

        for (int fields = random.Next(8); fields > 0; fields--)
        {
            Field(block, random);
        }

        for (int mutations = random.Next(5) == 0 ? random.Next(1, 3) : 0; mutations > 0 && block.Count > 0; mutations--)
        {
            int at = random.Next(block.Count);
            switch (random.Next(4))
            {
                case 3:
                    block.InsertRange(at, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, random.Pick((byte)0x07, (byte)0xFF), 0x01]);
                    break;
                case 0:
                    block[at] = (byte)random.Next(256);
                    break;
                case 1:
                    block.Insert(at, random.Pick((byte)0xFF, (byte)0x80, (byte)0x00, (byte)0x7F, (byte)0x3F));
                    break;
                default:
                    block.RemoveRange(at, block.Count - at);
                    break;
            }
        }

        return [.. block];
    }

    /// <summary>A field to insert, often with the name of one of the table's entries, the oldest by preference.</summary>
    public static byte[] Insertion(Random random, int tableEntries)
    {
        var block = new List<byte>();
        bool isBorrowed = tableEntries > 0 && random.Next(3) > 0;
        int age = random.Next(2) == 0 ? tableEntries - 1 : random.Next(Math.Max(tableEntries, 1));
        Integer(block, 0x40, 6, isBorrowed ? 62 + age : 0);
        if (!isBorrowed)
        {
            String(block, new string((char)random.Next('a', 'z' + 1), random.Next(60)), random);
        }

        String(block, new string((char)random.Next('A', 'Z' + 1), random.Next(random.Pick(40, 1500))), random);
        return [.. block];
    }

    private static void Field(List<byte> block, Random random)
    {
        int kind = random.Next(4);
        int index = random.Next(6) == 0 ? random.Pick(62, 62, 62, 63, 64, 70) : random.Pick(0, 0, 0, 1, 14, 15, 16, 61);
        if (kind == 0)
        {
            Integer(block, 0x80, 7, Math.Max(index, 1));
            return;
        }

        (byte pattern, int prefixBits) = kind switch
        {
            1 => ((byte)0x40, 6),
            2 => ((byte)0x00, 4),
            _ => ((byte)0x10, 4),
        };
        Integer(block, pattern, prefixBits, index);
        if (index == 0)
        {
            String(block, random.Pick(Names), random);
        }

        int length = random.Next(30) == 0 ? random.Next(3000, 4200) : random.Next(12) == 0 ? random.Next(200, 900) : random.Next(20);
        var value = new StringBuilder();
        while (value.Length < length)
        {
            value.Append(random.Next(20) == 0 ? (char)random.Next(256) : random.Pick("abcdef0123456789/-;= ".AsSpan()));
        }

        String(block, value.ToString(), random);
    }

    private static void String(List<byte> block, string text, Random random)
    {
        byte[] plain = Latin1.Bytes(text);
        byte[] coded = ReferenceHuffman.Encode(text);
        bool isCoded = random.Next(2) == 0;
        Integer(block, (byte)(isCoded ? 0x80 : 0), 7, (isCoded ? coded : plain).Length);
        block.AddRange(isCoded ? coded : plain);
    }

    private static void Integer(List<byte> block, byte pattern, int prefixBits, int value)
    {
        Span<byte> bytes = stackalloc byte[HpackInteger.BytesMax];
        block.AddRange(bytes[..HpackInteger.Write(bytes, pattern, prefixBits, value)]);
    }
}
