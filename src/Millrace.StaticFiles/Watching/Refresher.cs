using Millrace.Interop;
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

/// <summary>
/// Decides when a recurring failure is logged: once while it lasts and once when it ends, both rate-limited, because failures that clients
/// cause come and go. Any thread.
/// </summary>
internal sealed class FailureLog
{
    private const int Burst = 5;

    private readonly Lock _lock = new();
    private readonly LogRateLimiter _limiter = new(burst: Burst);
    private string? _reported;

    /// <summary>Whether to log the failure now. A suppressed one is logged when it recurs later.</summary>
    public bool ShouldLogFailure(string cause, long nowMs)
    {
        lock (_lock)
        {
            if (_reported == cause || !_limiter.Admits(nowMs))
            {
                return false;
            }

            Volatile.Write(ref _reported, cause);
            return true;
        }
    }

    /// <summary>Notes a success: whether to log that a reported failure ended.</summary>
    public bool ShouldLogRecovery()
    {
        if (Volatile.Read(ref _reported) is null)
        {
            return false;
        }

        lock (_lock)
        {
            bool wasReported = _reported is not null;
            Volatile.Write(ref _reported, null);
            return wasReported;
        }
    }
}
