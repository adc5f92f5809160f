namespace Millrace.Models;

/// <summary>Makes frames, headers and transport parameters of QUIC: most of them valid, some at a limit or beyond it, some cut off.</summary>
internal static class QuicGenerator
{
    public static byte[] Frames(Random random)
    {
        byte[] frames = [.. Enumerable.Range(0, random.Next(1, 5)).SelectMany(_ => Frame(random))];
        return random.Next(6) == 0 ? frames[..random.Next(frames.Length)] : frames;
    }

    public static byte[] Parameters(Random random)
    {
        byte[] all = [.. Enumerable.Range(0, random.Next(1, 6)).SelectMany(_ => Parameter(random))];
        return random.Next(8) == 0 ? all[..random.Next(all.Length)] : all;
    }

    public static byte[] Datagram(Random random)
    {
        byte[] datagram = [.. Enumerable.Range(0, random.Next(1, 4)).SelectMany(_ => Packet(random))];
        return random.Next(6) == 0 ? datagram[..random.Next(datagram.Length)] : datagram;
    }

    /// <summary>A variable-length integer, in more bytes than it needs now and then.</summary>
    public static byte[] Integer(long value, Random random)
    {
        int prefix = value < 1 << 6 ? 0 : value < 1 << 14 ? 1 : value < 1 << 30 ? 2 : 3;
        prefix = random.Next(12) == 0 ? random.Next(prefix, 4) : prefix;
        int length = 1 << prefix;
        byte[] bytes = [.. Enumerable.Range(0, length).Select(i => (byte)(value >> (8 * (length - 1 - i))))];
        bytes[0] |= (byte)(prefix << 6);
        return bytes;
    }

    private static byte[] Any(Random random) => Integer(Value(random), random);

    private static long Value(Random random) => random.Next(4) switch
    {
        0 => random.Next(4),
        1 => random.Next(70),
        2 => random.NextInt64(1L << random.Next(1, 62)),
        _ => random.Pick(0L, 1, 20, 63, 64, 1199, 1200, 16_383, 16_384, (1L << 30) - 1, 1L << 30, 1L << 60, (1L << 60) + 1, (1L << 62) - 1),
    };

    private static byte[] Bytes(int count, Random random)
    {
        var bytes = new byte[count];
        random.NextBytes(bytes);
        return bytes;
    }

    private static byte[] Prefixed(Random random)
    {
        byte[] data = Bytes(random.Next(random.Pick(1, 4, 20)), random);
        return [.. Integer(random.Next(10) == 0 ? Value(random) : data.Length, random), .. data];
    }

    private static byte[] Frame(Random random)
    {
        int type = random.Next(12) == 0 ? random.Next(256) : random.Next(0x1F);
        byte[] fields = type switch
        {
            0x00 => new byte[random.Next(3)],
            0x02 or 0x03 => Ack(type, random),
            0x04 => [.. Any(random), .. Any(random), .. Any(random)],
            0x05 or 0x11 or 0x15 => [.. Any(random), .. Any(random)],
            0x06 => [.. Any(random), .. Prefixed(random)],
            0x07 => Prefixed(random),
            >= 0x08 and <= 0x0F =>
                [.. Any(random), .. (type & 4) != 0 ? Any(random) : [], .. (type & 2) != 0 ? Prefixed(random) : Bytes(random.Next(4), random)],
            0x18 => NewConnectionId(random),
            0x1A or 0x1B => Bytes(8, random),
            0x1C => [.. Any(random), .. Any(random), .. Prefixed(random)],
            0x1D => [.. Any(random), .. Prefixed(random)],
            0x01 or 0x1E => [],
            _ => Any(random),
        };
        return [.. Integer(type, random), .. fields];
    }

    private static byte[] Ack(int type, Random random)
    {
        int count = random.Next(4);
        long largest = random.Next(3) == 0 ? Value(random) : random.Next(100);
        List<byte> bytes = [.. Integer(largest, random), .. Any(random)];
        bytes.AddRange(Integer(random.Next(10) == 0 ? Value(random) : count, random));
        bytes.AddRange(Integer(random.Next(10), random));
        for (int i = 0; i < 2 * count; i++)
        {
            bytes.AddRange(random.Next(10) == 0 ? Any(random) : Integer(random.Next(10), random));
        }

        return type == 3 ? [.. bytes, .. Any(random), .. Any(random), .. Any(random)] : [.. bytes];
    }

    private static byte[] NewConnectionId(Random random)
    {
        int length = random.Next(8) == 0 ? random.Next(23) : 8;
        int number = random.Next(5);
        return [.. Integer(number, random), .. Integer(random.Next(number + 2), random), (byte)length, .. Bytes(length + 16, random)];
    }

    private static byte[] Packet(Random random)
    {
        if (random.Next(4) == 0)
        {
            return [(byte)(0x40 | random.Next(0x40)), .. Bytes(random.Next(60), random)];
        }

        byte[] version = random.Pick<byte[]>([0, 0, 0, 1], [0, 0, 0, 1], [0x6B, 0x33, 0x43, 0xCF], [0, 0, 0, 0], [0x1A, 0x2A, 0x3A, 0x4A]);
        int first = random.Next(8) == 0 ? random.Next(0x80, 0x100) : 0xC0 | random.Next(0x40);
        int destination = random.Next(8) == 0 ? random.Next(24) : 8;
        int source = random.Next(8) == 0 ? random.Next(24) : 8;
        List<byte> bytes = [(byte)first, .. version, (byte)destination, .. Bytes(destination, random), (byte)source, .. Bytes(source, random)];
        int initial = version[0] == 0x6B ? 1 : 0;
        if (((first >> 4) & 3) == initial)
        {
            bytes.AddRange(Prefixed(random));
        }

        byte[] payload = Bytes(random.Next(60), random);
        bytes.AddRange(Integer(random.Next(8) == 0 ? Value(random) : payload.Length, random));
        return [.. bytes, .. payload];
    }

    private static byte[] Parameter(Random random)
    {
        int id = random.Next(10) == 0 ? random.Next(1000) : random.Next(0x12);
        byte[] value = id switch
        {
            0x00 or 0x0F or 0x10 => Bytes(random.Next(8) == 0 ? random.Next(23) : 8, random),
            0x02 => Bytes(random.Next(8) == 0 ? random.Next(18) : 16, random),
            0x0C => Bytes(random.Next(8) == 0 ? 1 : 0, random),
            0x0D => PreferredAddress(random),
            0x11 => Versions(random),
            _ => Any(random),
        };
        return [.. Integer(id, random), .. Integer(random.Next(16) == 0 ? Value(random) : value.Length, random), .. value];
    }

    private static byte[] PreferredAddress(Random random)
    {
        int length = random.Next(4) == 0 ? random.Next(23) : 8;
        int more = random.Next(8) == 0 ? random.Next(2) : 0;
        return [.. Bytes(24, random), (byte)length, .. Bytes(length + 16 + more, random)];
    }

    private static byte[] Versions(Random random)
    {
        byte[] versions = [.. Enumerable.Range(0, random.Next(1, 5)).SelectMany(_ => new byte[] { 0, 0, 0, (byte)random.Pick(0, 1, 1, 2, 2) })];
        return random.Next(8) == 0 ? versions[..^1] : versions;
    }
}
