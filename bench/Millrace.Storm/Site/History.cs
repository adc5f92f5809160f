using System.Diagnostics;

namespace Millrace.Storm.Site;

/// <summary>Everything a path of the site was. Written by the one who deploys it, read by all.</summary>
internal sealed class History
{
    private readonly Lock _lock = new();
    private readonly List<State> _states = [new State(null, 0, 0)];

    public State Current
    {
        get
        {
            lock (_lock)
            {
                return _states[^1];
            }
        }
    }

    /// <summary>From one state to the next at once, by one system call between this and the end of the change.</summary>
    public Change Become(Edition? edition, long? bytes = null) => Begin(edition, bytes ?? edition?.Length ?? 0, torn: null);

    /// <summary>By writing in place: until the change ends, anybody may see some of the old and some of the new.</summary>
    public Change BecomeBySteps(Edition edition, long bytes) =>
        Begin(edition, bytes, new State(edition, bytes, Stopwatch.GetTimestamp()) { IsTorn = true, Replaced = Current.Edition });

    /// <summary>What the path was at any moment of a time.</summary>
    public List<State> Between(long from, long until)
    {
        List<State> found = [];
        lock (_lock)
        {
            // They end in the order they began: what ended before needs no look at what was before that.
            for (int i = _states.Count - 1; i >= 0 && _states[i].Until >= from; i--)
            {
                if (_states[i].From <= until)
                {
                    found.Add(_states[i]);
                }
            }
        }

        return found;
    }

    /// <summary>Whether it was this at any time before: a stale answer is another mistake than a wrong one.</summary>
    public bool Was(Edition edition)
    {
        lock (_lock)
        {
            return _states.Exists(state => state.Edition == edition);
        }
    }

    private Change Begin(Edition? edition, long bytes, State? torn)
    {
        lock (_lock)
        {
            State last = _states[^1];
            if (torn is not null)
            {
                _states.Add(torn);
            }

            _states.Add(new State(edition, bytes, Stopwatch.GetTimestamp()));
            return new Change(last, torn);
        }
    }

    /// <summary>While it is open, the path may be what it was or what it becomes.</summary>
    public readonly struct Change(State last, State? torn) : IDisposable
    {
        public void Dispose()
        {
            long now = Stopwatch.GetTimestamp();
            last.Until = now;
            torn?.Until = now;
        }
    }
}
