namespace Millrace.Engine.Backends.IoUring;

/// <summary>
/// Completions that do not come from the ring in this iteration, of two kinds, and their order relative to those in the ring. Completions
/// set aside were taken from the ring before and are older than all in it: completions of one operation (two receives, say) must not be
/// reordered. Results of calls come as fast as they are processed and could starve the ring: while the ring has completions, results get
/// half of the slots.
/// </summary>
internal sealed class EarlyCompletions
{
    private readonly Queue<Completion> _setAside = new();
    private readonly Queue<Completion> _results = new();

    /// <summary>Alternates which side gets the middle one of an odd number of slots, which may be the only one.</summary>
    private int _middle;

    public bool IsEmpty => _setAside.Count == 0 && _results.Count == 0;

    /// <summary>Keeps a completion that was taken from the ring early. Oldest first.</summary>
    public void SetAside(in Completion completion) => _setAside.Enqueue(completion);

    /// <summary>Adds a completion that was never in the ring.</summary>
    public void AddResult(in Completion completion) => _results.Enqueue(completion);

    /// <summary>
    /// Fills slots with completions that precede the ring's, leaves the others to the ring, and returns how many were filled.
    /// </summary>
    public int TakeBefore(Span<Completion> slots)
    {
        int half = (slots.Length + _middle) / 2;
        _middle ^= 1;
        int count = Take(_results, slots[..half]);
        return count + Take(_setAside, slots[count..]);
    }

    /// <summary>Fills slots that the ring has left over.</summary>
    public int TakeAfter(Span<Completion> slots) => Take(_results, slots);

    private static int Take(Queue<Completion> from, Span<Completion> slots)
    {
        int count = 0;
        while (count < slots.Length && from.TryDequeue(out slots[count]))
        {
            count++;
        }

        return count;
    }
}
