using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Checks recently written files again for the strong tags that they can have after their times settle, repeatedly while the site has such
/// files. A new change never postpones a check, so a log that grows all the time does not keep the files beside it weak; instead the checks
/// become rarer, down to one per second. Any thread.
/// </summary>
internal sealed class UnsettledRecheck : IDisposable
{
    /// <summary>Twice the error of a file system's clock, see <see cref="Scanning.FileState.IsSettledAt"/>.</summary>
    internal static readonly TimeSpan CheckAfter = TimeSpan.FromMilliseconds(100);

    /// <summary>The longest interval, also after failures, which repeated attempts do not cure (no descriptors, say).</summary>
    internal static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly Refresher _refresher;
    private readonly Func<IReadOnlyList<DirectoryChange>> _unsettled;
    private readonly ITimer _timer;
    private bool _isPending;
    private TimeSpan _pause = CheckAfter;

    public UnsettledRecheck(Refresher refresher, Func<IReadOnlyList<DirectoryChange>> unsettled, TimeProvider clock)
    {
        _refresher = refresher;
        _unsettled = unsettled;
        _timer = clock.CreateTimer(_ => Check(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Call after each change of the site.</summary>
    public void OnChanged() => CheckLater(_pause);

    /// <summary>Waits for a check in progress.</summary>
    public void Dispose() => _timer.DisposeAsync().AsTask().GetAwaiter().GetResult();

    private void CheckLater(TimeSpan delay)
    {
        if (_unsettled().Count > 0 && !Interlocked.Exchange(ref _isPending, true))
        {
            _ = _timer.Change(delay, Timeout.InfiniteTimeSpan);
        }
    }

    private void Check()
    {
        bool isRead = _refresher.TryRead([.. _unsettled()]);

        // Files that are written constantly, or whose times are in the future, stay weak after each check.
        bool isDone = _unsettled().Count == 0;
        _pause = isDone ? CheckAfter : !isRead || _pause * 2 > RetryAfter ? RetryAfter : _pause * 2;

        // Only now, so that checks do not overlap. Changes made meanwhile are found by CheckLater.
        Volatile.Write(ref _isPending, false);
        CheckLater(_pause);
    }
}
