namespace Millrace.Engine.Loop;

/// <summary>
/// Continuations of handlers that yielded (<see cref="Reactor.Yield"/>), in order. Reactor thread only.
/// </summary>
/// <param name="begin">Called before each is run.</param>
internal sealed class YieldQueue(Action begin)
{
    private static readonly Action<object?> Run = static continuation => ((Action)continuation!)();

    private readonly Queue<Action> _waiting = new();

    public int Count => _waiting.Count;

    /// <summary>Schedules a continuation for a later iteration.</summary>
    public void Add(Action continuation) => _waiting.Enqueue(continuation);

    /// <summary>
    /// Runs those that have waited longest, for the time of one phase, and at least one.
    /// </summary>
    /// <param name="count">How many at most, and at least one: those that waited before the iteration.</param>
    /// <param name="budget">The iteration's budget.</param>
    public void RunFor(int count, IterationBudget budget)
    {
        budget.BeginPhase(IterationBudget.PhaseTicks);
        do
        {
            begin();
            budget.BeginSlice(waiting: _waiting.Count - 1);
            _waiting.Dequeue()();
        }
        while (--count > 0 && !budget.IsPhaseOver);
    }

    /// <summary>
    /// The reactor ends: moves the continuations to the mailbox, which runs them even when closed, so that their awaiters learn it.
    /// </summary>
    public void MoveTo(Mailbox mailbox)
    {
        while (_waiting.TryDequeue(out Action? continuation))
        {
            mailbox.PostContinuation(Run, continuation);
        }
    }
}
