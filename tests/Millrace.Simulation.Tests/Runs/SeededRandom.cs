namespace Millrace.Simulation.Tests.Runs;

/// <summary>The chance of a run: all of it follows from the seed (SplitMix64, whose streams of neighbouring seeds differ at once).</summary>
internal sealed class SeededRandom(ulong seed)
{
    private ulong _state = seed * 0xD6E8_FEB8_6659_FD93;

    public ulong Next()
    {
        _state += 0x9E37_79B9_7F4A_7C15;
        ulong mixed = _state;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58_476D_1CE4_E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB;
        return mixed ^ (mixed >> 31);
    }

    /// <summary>From 0 to below the bound.</summary>
    public int Below(int bound) => (int)(((Next() >> 32) * (ulong)bound) >> 32);

    /// <summary>Both ends included.</summary>
    public int Between(int lowest, int highest) => lowest + Below(highest - lowest + 1);

    public bool Chance(int perMille) => Below(1000) < perMille;

    public T Pick<T>(params ReadOnlySpan<T> choices) => choices[Below(choices.Length)];
}
