namespace Millrace.Engine.Backends.Uring;

/// <summary>
/// Completions that are there before the ring is looked at, of two kinds, and in which order a turn hands them over with those that are in
/// the ring. What was put aside came out of the ring, and is older than all that is in it: of one operation's completions, two receives
/// say, none may overtake another. Results of calls come as fast as they are dealt with, and would keep out for good what only the ring
/// brings: while that has something they have half of the places.
/// </summary>
internal sealed class EarlyCompletions
{
    private readonly Queue<Completion> _putAside = new();
    private readonly Queue<Completion> _results = new();

    /// <summary>Who has the middle one of an odd number of places, which may be the only one: they take turns.</summary>
    private int _middle;

    public bool IsEmpty => _putAside.Count == 0 && _results.Count == 0;

    /// <summary>One that was taken from the ring before its turn. The oldest first.</summary>
    public void PutAside(in Completion completion) => _putAside.Enqueue(completion);

    /// <summary>One that never was in the ring.</summary>
    public void AddResult(in Completion completion) => _results.Enqueue(completion);

    /// <summary>Fills places with those that come before the ring's; the rest are the ring's. How many were filled.</summary>
    public int TakeBefore(Span<Completion> places)
    {
        int half = (places.Length + _middle) / 2;
        _middle ^= 1;
        int count = Take(_results, places[..half]);
        return count + Take(_putAside, places[count..]);
    }

    /// <summary>Fills places that the ring has left.</summary>
    public int TakeBehind(Span<Completion> places) => Take(_results, places);

    private static int Take(Queue<Completion> from, Span<Completion> places)
    {
        int count = 0;
        while (count < places.Length && from.TryDequeue(out places[count]))
        {
            count++;
        }

        return count;
    }
}
