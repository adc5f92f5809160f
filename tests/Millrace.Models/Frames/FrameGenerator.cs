namespace Millrace.Models;

/// <summary>Makes frames: most of a type, length and stream that fit together, some not, some cut off.</summary>
internal static class FrameGenerator
{
    public static byte[] Any(Random random)
    {
        int type = random.Next(8) == 0 ? random.Next(256) : random.Pick(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16);
        int fitting = type switch
        {
            2 => 5,
            3 or 8 => 4,
            4 => 6 * random.Next(4),
            6 => 8,
            7 => 8 + random.Next(4),
            16 => 4 + random.Next(6),
            _ => random.Next(12),
        };
        byte[] payload = new byte[random.Next(6) == 0 ? random.Next(14) : fitting];
        random.NextBytes(payload);
        if (type == 4)
        {
            FillSettings(payload, random);
        }
        else if (payload.Length > 0 && random.Next(3) > 0)
        {
            payload[0] = (byte)random.Next(6);
        }

        if (type is 8 or 16 && random.Next(4) == 0)
        {
            payload.AsSpan().Clear();
        }

        bool isOfConnection = type is 4 or 6 or 7 or 16 || (type == 8 && random.Next(2) == 0);
        int stream = random.Next(8) == 0 ? random.Next(3) : isOfConnection ? 0 : random.Next(1, 9);
        int flags = random.Next(3) == 0 ? random.Next(256) : random.Pick(0, 0, 1, 4, 5, 8, 0x20, 0x28);
        int length = random.Next(20) == 0 ? payload.Length + random.Pick(1, 0x10000) : payload.Length;
        byte reserved = random.Next(10) == 0 ? (byte)0x80 : (byte)0;
        return
        [
            (byte)(length >> 16), (byte)(length >> 8), (byte)length, (byte)type, (byte)flags, reserved, 0, 0, (byte)stream, .. payload,
        ];
    }

    private static void FillSettings(byte[] payload, Random random)
    {
        for (int at = 0; at + 6 <= payload.Length; at += 6)
        {
            uint value = random.Pick(0u, 0u, 1u, 1u, 2u, 100u, 16383u, 16384u, 16777215u, 16777216u, 0x7FFF_FFFFu, 0x8000_0000u);
            byte[] setting =
            [
                0, (byte)random.Pick(1, 2, 3, 4, 5, 6, 8, 9, 77), (byte)(value >> 24), (byte)(value >> 16), (byte)(value >> 8), (byte)value,
            ];
            setting.CopyTo(payload, at);
        }
    }
}
