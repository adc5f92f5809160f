using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Has a catalogue read again what changed. Whatever goes wrong there is logged, once and not at each attempt, and never thrown: the
/// catalogue keeps what it had. Belongs to the watch's thread.
/// </summary>
internal sealed class Refresher(IRefreshable catalog, string root, WatchLog log)
{
    private string? _lastFailure;

    /// <summary>Reads these again, or all (null).</summary>
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
        catch (Exception error)
        {
            Note(error);
            return RefreshOutcome.Failed;
        }

        if (_lastFailure is not null)
        {
            _lastFailure = null;
            log.RefreshRecovered(root);
        }

        return RefreshOutcome.Done;
    }

    private void Note(Exception error)
    {
        if (error.Message == _lastFailure)
        {
            return;
        }

        _lastFailure = error.Message;
        if (error is SiteException)
        {
            log.RefreshRefused(root, error.Message);
        }
        else
        {
            log.RefreshFailed(root, error);
        }
    }
}

/// <summary>How an attempt to read again ended.</summary>
internal enum RefreshOutcome
{
    Done,
    Failed,
}
