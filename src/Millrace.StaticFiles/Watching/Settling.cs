using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Has files that had just been written looked at once more, for the strong tags that they can have by then; again and again, as long as
/// the site has any. A look is never put off: a log that grows all the time must not keep what was written beside it weak. But it makes
/// the looks rarer, one in a second at last. Any thread.
/// </summary>
internal sealed class Settling : IDisposable
{
    /// <summary>Twice what a clock of the file system may be behind, see <see cref="Building.FileState.IsSettledAt"/>.</summary>
    internal static readonly TimeSpan LookAfter = TimeSpan.FromMilliseconds(100);

    /// <summary>What fails, for want of descriptors say, does not get better by being asked for all the time.</summary>
    internal static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly Refresher _refresher;
    private readonly Func<IReadOnlyList<DirectoryChange>> _unsettled;
    private readonly ITimer _timer;
    private bool _isPending;
    private TimeSpan _pause = LookAfter;

    /// <param name="refresher">Nobody else's.</param>
    /// <param name="unsettled">The files that want another look now.</param>
    /// <param name="clock">The system's in production.</param>
    public Settling(Refresher refresher, Func<IReadOnlyList<DirectoryChange>> unsettled, TimeProvider clock)
    {
        _refresher = refresher;
        _unsettled = unsettled;
        _timer = clock.CreateTimer(_ => Look(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>To be called after each change of the site.</summary>
    public void OnChanged() => LookLater(_pause);

    /// <summary>Waits for a look that has begun.</summary>
    public void Dispose() => _timer.DisposeAsync().AsTask().GetAwaiter().GetResult();

    private void LookLater(TimeSpan delay)
    {
        if (_unsettled().Count > 0 && !Interlocked.Exchange(ref _isPending, true))
        {
            _ = _timer.Change(delay, Timeout.InfiniteTimeSpan);
        }
    }

    private void Look()
    {
        RefreshOutcome outcome = _refresher.Read([.. _unsettled()]);

        // What is written all the time, or is of a time to come, is weak after each look.
        bool isDone = _unsettled().Count == 0;
        _pause = isDone ? LookAfter : outcome == RefreshOutcome.Failed || _pause * 2 > RetryAfter ? RetryAfter : _pause * 2;

        // Only now, so that looks do not overlap; what changed meanwhile is met by the line behind.
        Volatile.Write(ref _isPending, false);
        LookLater(_pause);
    }
}
