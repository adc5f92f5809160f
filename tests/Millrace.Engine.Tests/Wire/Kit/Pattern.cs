namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>A stream of bytes that tells whose it is and where in it one is: a mix-up of connections or of order is seen.</summary>
internal static class Pattern
{
    public static byte At(int stream, long position)
    {
        ulong mixed = ((ulong)stream * 0x9E37_79B9_7F4A_7C15) ^ ((ulong)position * 0xC2B2_AE3D_27D4_EB4F);
        mixed ^= mixed >> 29;
        return (byte)((mixed * 0xBF58_476D_1CE4_E5B9) >> 56);
    }

    public static void Fill(Span<byte> bytes, int stream, long position = 0)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] = At(stream, position + i);
        }
    }

    public static byte[] Bytes(int stream, int count, long position = 0)
    {
        byte[] bytes = new byte[count];
        Fill(bytes, stream, position);
        return bytes;
    }

    public static void Check(ReadOnlySpan<byte> bytes, int stream, long position = 0)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            if (bytes[i] != At(stream, position + i))
            {
                Assert.Fail($"Byte {position + i} of stream {stream} is not its own.");
            }
        }
    }
}
