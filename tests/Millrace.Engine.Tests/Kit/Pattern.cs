namespace Millrace.Engine.Tests.Kit;

/// <summary>Bytes that tell whose they are and where they belong: one of another connection, or out of place, is seen.</summary>
internal static class Pattern
{
    public static byte At(int id, long position) =>
        (byte)((((ulong)(uint)(id + 1) * 0x9E37_79B9_7F4A_7C15UL) + ((ulong)position * 0xBF58_476D_1CE4_E5B9UL)) >> 29);

    public static byte[] Make(int id, int count, long start = 0)
    {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++)
        {
            bytes[i] = At(id, start + i);
        }

        return bytes;
    }

    public static void Check(int id, ReadOnlySpan<byte> bytes, long start = 0)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            if (bytes[i] != At(id, start + i))
            {
                Assert.Fail($"Connection {id} got a foreign byte at {start + i}: {bytes[i]:x2}, not {At(id, start + i):x2}.");
            }
        }
    }
}
