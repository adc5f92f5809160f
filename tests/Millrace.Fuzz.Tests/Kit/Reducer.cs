using System.Diagnostics;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>
/// Makes an input as short and plain as it goes while it still fails: takes out ranges, halves first and then ever smaller ones, until
/// none can go; then writes 'a' for what need not be as it is.
/// </summary>
internal sealed class Reducer(Func<byte[], bool> fails)
{
    /// <summary>A fault that is hard to provoke again must not hold up the report.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly long _startedAt = Stopwatch.GetTimestamp();

    public byte[] Reduce(byte[] input)
    {
        byte[] best = input;
        int before;
        do
        {
            before = best.Length;
            for (int length = Math.Max(1, best.Length / 2); length > 0; length /= 2)
            {
                best = TakeOut(best, length);
            }
        }
        while (best.Length < before);

        for (int at = 0; at < best.Length; at++)
        {
            byte[] plainer = [.. best[..at], (byte)'a', .. best[(at + 1)..]];
            best = best[at] != 'a' && Fails(plainer) ? plainer : best;
        }

        return best;
    }

    private byte[] TakeOut(byte[] input, int length)
    {
        for (int at = 0; at + length <= input.Length;)
        {
            byte[] shorter = [.. input[..at], .. input[(at + length)..]];
            if (Fails(shorter))
            {
                input = shorter;
            }
            else
            {
                at += length;
            }
        }

        return input;
    }

    private bool Fails(byte[] input) => Stopwatch.GetElapsedTime(_startedAt) < Patience && fails(input);
}
