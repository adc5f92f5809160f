namespace Millrace.Engine.Buffers;

/// <summary>Keeps free memory for reuse and can give it back. Reactor thread.</summary>
internal interface ITrimmable
{
    /// <summary>Gives back what was not needed since the last call, or all that is not in use.</summary>
    void Trim(bool all);
}

/// <summary>
/// Gives back memory that a reactor keeps for the next peak: every few seconds what was not needed meanwhile, and all that is free once
/// traffic has nearly ended. While there is nothing to give back it is never due, so that it does not wake an idle process. Reactor thread
/// only, except <see cref="IsIdle"/>.
/// </summary>
internal sealed class MemoryTrimmer
{
    /// <summary>Longer than usual pauses of traffic, so that a page's next files find memory available.</summary>
    public const long PeriodMs = 5_000;

    /// <summary>With fewer completions in a period there is nearly no traffic.</summary>
    private const long QuietCompletions = 500;

    private readonly List<ITrimmable> _parts = [];
    private long _completionsSeen;
    private volatile bool _isIdle = true;

    /// <summary>When <see cref="RunDue"/> acts next; the largest number for never.</summary>
    public long DueMs { get; private set; } = long.MaxValue;

    /// <summary>Whether there was nearly no traffic in the last period, after which all free memory was given back. Any thread.</summary>
    public bool IsIdle => _isIdle;

    public void Add(ITrimmable part) => _parts.Add(part);

    public void Remove(ITrimmable part) => _parts.Remove(part);

    /// <summary>Starts a period, as memory may now be taken or kept.</summary>
    public void Arm(long nowMs)
    {
        if (DueMs == long.MaxValue)
        {
            DueMs = nowMs + PeriodMs;
        }
    }

    /// <summary>Gives memory back if a period is over; true if that had nearly no traffic. Takes the count of all completions.</summary>
    public bool RunDue(long nowMs, long completions)
    {
        if (nowMs < DueMs)
        {
            return false;
        }

        bool isQuiet = completions - _completionsSeen < QuietCompletions;
        _completionsSeen = completions;
        foreach (ITrimmable part in _parts)
        {
            part.Trim(all: isQuiet);
        }

        DueMs = isQuiet ? long.MaxValue : nowMs + PeriodMs;
        _isIdle = isQuiet;
        return isQuiet;
    }
}
