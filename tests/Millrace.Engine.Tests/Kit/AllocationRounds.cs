namespace Millrace.Engine.Tests.Kit;

/// <summary>
/// What one thread allocates in rounds of many requests. What allocates for a request does so in every round; what happens once in a
/// connection's life does not: the watch over its first send that had to wait, say, or a list that grows.
/// </summary>
internal sealed class AllocationRounds(int requestsEach)
{
    private const int Rounds = 4;

    private int _begun;
    private long _before;

    /// <summary>To be served, the first round's for warming up.</summary>
    public int Requests { get; } = (Rounds + 1) * requestsEach;

    /// <summary>Bytes of the round with the fewest.</summary>
    public long Least { get; private set; } = long.MaxValue;

    /// <summary>A request begins; and once more when all are served. On the measured thread.</summary>
    public void NoteRequest()
    {
        if (_begun % requestsEach == 0)
        {
            long now = GC.GetAllocatedBytesForCurrentThread();
            Least = _begun > requestsEach ? Math.Min(Least, now - _before) : Least;
            _before = now;
        }

        _begun++;
    }
}
