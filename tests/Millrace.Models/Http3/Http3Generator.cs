using Millrace.Http;

namespace Millrace.Models;

/// <summary>Makes streams of HTTP/3: mostly frames that the stream may have, in an order that it may have; some broken or cut.</summary>
internal static class Http3Generator
{
    public static byte[] Stream(Random random, int kind)
    {
        var stream = new List<byte>();
        long[] order = kind switch
        {
            0 => random.Pick([1L], [1L, 0L], [1L, 0L, 0L, 1L], [1L, 1L], new long[] { 1, 0, 33 }, [33L, 1L, 0L]),
            1 => random.Pick([1L], [1L, 1L, 0L], [1L, 0L, 0L, 1L], new long[] { 1, 1, 1, 33 }),
            _ => [4, .. Enumerable.Range(0, random.Next(5)).Select(_ => random.Pick(7L, 7L, 13L, 13L, 0xF0700L, 0xF0700L, 33L))],
        };
        foreach (long usual in order)
        {
            long type = random.Next(12) == 0
                ? random.Pick(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 13L, 33L, 64L, 0xF0700L, 0xF0701L, Http3Integer.Max)
                : usual;
            Frame(stream, random, type);
        }

        if (random.Next(8) == 0 && stream.Count > 0)
        {
            int at = random.Next(stream.Count);
            if (random.Next(2) == 0)
            {
                stream.RemoveRange(at, stream.Count - at);
            }
            else
            {
                stream[at] = (byte)random.Next(256);
            }
        }

        return [.. stream];
    }

    /// <summary>A number in one of the lengths that it fits in.</summary>
    public static void Number(List<byte> bytes, Random random, long value)
    {
        int length = Http3Integer.Length(value);
        while (length < 8 && random.Next(6) == 0)
        {
            length *= 2;
        }

        int first = bytes.Count;
        for (int shift = 8 * (length - 1); shift >= 0; shift -= 8)
        {
            bytes.Add((byte)(value >> shift));
        }

        bytes[first] |= (byte)(int.Log2(length) << 6);
    }

    private static void Frame(List<byte> stream, Random random, long type)
    {
        var payload = new List<byte>();
        switch (type)
        {
            case 4:
                for (int count = random.Next(5); count > 0; count--)
                {
                    Number(payload, random, random.Next(10) == 0 ? random.Next(10) : random.Pick(1L, 6L, 7L, 8L, 33L, 0x4D44L, Http3Integer.Max));
                    Number(payload, random, random.Pick(0L, 1L, 1L, 2L, 100L, 65536L, Http3Integer.Max));
                }

                break;
            case 3 or 7 or 13 or 0xF0700 or 0xF0701:
                Number(payload, random, random.Pick(0L, 4L, 4L, 8L, 100L, 5L, 70000L, Http3Integer.Max - 3, Http3Integer.Max));
                if (type >= 0xF0700 || random.Next(12) == 0)
                {
                    payload.AddRange(Latin1.Bytes(random.Pick("", "u=1", "i", "u=7, i", "u=9", "=")));
                }

                break;
            default:
                payload.AddRange(new byte[random.Next(3) == 0 ? 0 : random.Next(40)]);
                break;
        }

        Number(stream, random, type);
        Number(stream, random, random.Next(20) == 0 ? random.Pick(0, 4096, 4097, 1L << 40, payload.Count + 1) : payload.Count);
        stream.AddRange(payload);
    }
}
