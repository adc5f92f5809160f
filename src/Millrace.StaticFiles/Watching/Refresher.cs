using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Rescans a catalog. Failures are logged once rather than at each attempt, and never thrown: the catalog keeps its previous snapshot. Used
/// by one thread at a time.
/// </summary>
internal sealed class Refresher(IRefreshable catalog, string root, WatchLog log)
{
    private readonly FailureLog _failures = new();

    /// <summary>Rescans the changes, or the whole site (null).</summary>
    public RefreshOutcome Read(DirectoryChange[]? changes)
    {
        try
        {
            if (changes is null)
            {
                catalog.Reload();
            }
            else
            {
                catalog.Refresh(changes);
            }
        }
#pragma warning disable CA1031 // It is logged, and the previous snapshot is kept.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Note(error);
            return RefreshOutcome.Failed;
        }

        if (_failures.ShouldLogRecovery())
        {
            log.RescanRecovered(root);
        }

        return RefreshOutcome.Done;
    }

    private void Note(Exception error)
    {
        if (!_failures.ShouldLogFailure(error.Message, Environment.TickCount64))
        {
            return;
        }

        if (error is SiteException)
        {
            log.RescanRefused(root, error.Message);
        }
        else
        {
            log.RescanFailed(root, error);
        }
    }
}

/// <summary>The result of a rescan.</summary>
internal enum RefreshOutcome
{
    Done,
    Failed,
}
