namespace Millrace.Simulation.Tests.Runs;

/// <summary>Bytes that tell whose they are: those of two owners differ from the first on, and nowhere repeat soon.</summary>
internal static class Marker
{
    private const int Bytes = 1 << 20;
    private const int OwnerBytesMax = 640_000;

    private static readonly byte[] Noise = MakeNoise();

    /// <summary>The bytes of an owner, as many as anybody has.</summary>
    public static ReadOnlyMemory<byte> Of(int owner) =>
        Noise.AsMemory((int)(((uint)owner * 7_919) % (Bytes - OwnerBytesMax)), OwnerBytesMax);

    private static byte[] MakeNoise()
    {
        var random = new SeededRandom(20_240_506);
        byte[] noise = new byte[Bytes];
        for (int i = 0; i < noise.Length; i++)
        {
            noise[i] = (byte)random.Next();
        }

        return noise;
    }
}
