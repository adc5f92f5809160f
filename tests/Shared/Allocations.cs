namespace Millrace.Tests.Shared;

/// <summary>
/// What something allocates each time it is done, on the thread that asks. What the runtime does once, in whichever test happens to be
/// the one that it does it in, is none of it: a class
/// whose static fields its table of these has no room for gets it another one, of 8 KB and more.
/// </summary>
internal static class Allocations
{
    private const int Rounds = 4;

    /// <summary>Bytes of the round that allocated least, of some; the first is a warm-up and does not count.</summary>
    public static long OfEach(Action round)
    {
        round();
        long least = long.MaxValue;
        for (int i = 0; i < Rounds && least > 0; i++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            round();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }
}
