using Millrace.Interop;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Rescans a catalog. Failures are logged once rather than at each attempt, and never thrown: the catalog keeps its previous snapshot. Any
/// thread.
/// </summary>
internal sealed class Refresher(IRefreshable catalog, string root, SiteLog log)
{
    private readonly FailureLog _failures = new();

    /// <summary>Rescans the changes, or the whole site (null). False if that failed.</summary>
    public bool TryRead(DirectoryChange[]? changes) => TryRun(() =>
    {
        if (changes is null)
        {
            catalog.Reload();
        }
        else
        {
            catalog.Refresh(changes);
        }
    });

    /// <summary>Runs what rescans the catalog. False if it failed.</summary>
    public bool TryRun(Action rescan)
    {
        try
        {
            rescan();
        }
        catch (ObjectDisposedException)
        {
            // The site was closed meanwhile.
            return false;
        }
#pragma warning disable CA1031 // It is logged, and the previous snapshot is kept.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Note(error);
            return false;
        }

        if (_failures.ShouldLogRecovery())
        {
            log.RescanRecovered(root);
        }

        return true;
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
