using Microsoft.Extensions.Logging;

namespace Millrace.StaticFiles.Watching;

/// <summary>Log lines of the watch. Event ids are stable: 40x how changes are detected, 41x rescans.</summary>
internal sealed partial class WatchLog(ILogger logger)
{
    [LoggerMessage(400, LogLevel.Debug, "Watching {Directories} directories of {Root} with {Watches} inotify watches.")]
    public partial void Started(string root, int directories, int watches);

    [LoggerMessage(401, LogLevel.Warning,
        "No more inotify watches are available (ENOSPC): files of {Root} are checked at each request until a restart. "
        + "Raise fs.inotify.max_user_watches.")]
    public partial void OutOfWatches(string root);

    [LoggerMessage(402, LogLevel.Warning,
        "No more inotify instances are available (EMFILE): files of {Root} are checked at each request until a restart. "
        + "Raise fs.inotify.max_user_instances.")]
    public partial void OutOfInstances(string root);

    [LoggerMessage(403, LogLevel.Information,
        "{Root} is on {FileSystem}, where inotify does not report all changes: its files are checked at each request.")]
    public partial void FileSystemUnreported(string root, string fileSystem);

    [LoggerMessage(404, LogLevel.Warning,
        "{Root} cannot be watched ({Reason}): its files are checked at each request until a restart.")]
    public partial void CannotWatch(string root, string reason);

    [LoggerMessage(405, LogLevel.Error,
        "The watch of {Root} failed: its files are checked at each request until a restart.")]
    public partial void WatchFailed(string root, Exception error);

    [LoggerMessage(406, LogLevel.Debug, "A directory above {Root} cannot be watched; the root's path is checked every {IntervalMs} ms.")]
    public partial void PollsRoot(string root, int intervalMs);

    [LoggerMessage(410, LogLevel.Warning,
        "The inotify queue overflowed (fs.inotify.max_queued_events), as files of {Root} changed faster than they were read: "
        + "rescanning the whole site.")]
    public partial void Overflowed(string root);

    [LoggerMessage(411, LogLevel.Error, "Rescan of {Root} failed; keeping the previous snapshot and retrying. {Cause}")]
    public partial void RescanRefused(string root, string cause);

    [LoggerMessage(412, LogLevel.Error, "Rescan of {Root} failed unexpectedly; keeping the previous snapshot and retrying.")]
    public partial void RescanFailed(string root, Exception error);

    [LoggerMessage(413, LogLevel.Information, "Rescan of {Root} succeeded again.")]
    public partial void RescanRecovered(string root);
}
