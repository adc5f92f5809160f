using Microsoft.Extensions.Logging;

namespace Millrace.StaticFiles.Watching;

/// <summary>The watch's log lines. Event ids are stable: 40x how it watches, 41x what it reads.</summary>
internal sealed partial class WatchLog(ILogger logger)
{
    [LoggerMessage(400, LogLevel.Debug, "Watching {Directories} directories of {Root} by {Watches} inotify watches.")]
    public partial void Started(string root, int directories, int watches);

    [LoggerMessage(401, LogLevel.Warning,
        "The kernel takes no more inotify watches (ENOSPC): raise fs.inotify.max_user_watches. Until a restart the files of {Root} are "
        + "looked at for each request.")]
    public partial void OutOfWatches(string root);

    [LoggerMessage(402, LogLevel.Warning,
        "The kernel makes no more inotify instances (EMFILE): raise fs.inotify.max_user_instances. Until a restart the files of {Root} "
        + "are looked at for each request.")]
    public partial void OutOfInstances(string root);

    [LoggerMessage(403, LogLevel.Information,
        "{Root} lies on {FileSystem}, which changes without inotify saying so: its files are looked at for each request.")]
    public partial void FileSystemIsSilent(string root, string fileSystem);

    [LoggerMessage(404, LogLevel.Warning,
        "{Root} cannot be watched ({Reason}). Until a restart its files are looked at for each request.")]
    public partial void CannotWatch(string root, string reason);

    [LoggerMessage(405, LogLevel.Error,
        "The watch of {Root} failed. Until a restart its files are looked at for each request.")]
    public partial void WatchFailed(string root, Exception error);

    [LoggerMessage(406, LogLevel.Debug, "A directory above {Root} cannot be watched; its name is looked up every {IntervalMs} ms.")]
    public partial void LooksUpRoot(string root, int intervalMs);

    [LoggerMessage(410, LogLevel.Warning,
        "Files of {Root} changed faster than they were read, and the kernel dropped records (fs.inotify.max_queued_events): all of it is "
        + "read anew.")]
    public partial void Overflowed(string root);

    [LoggerMessage(411, LogLevel.Error, "{Root} cannot be read anew: {Cause} What was read before stays; it is tried again.")]
    public partial void RefreshRefused(string root, string cause);

    [LoggerMessage(412, LogLevel.Error, "Reading {Root} anew failed. What was read before stays; it is tried again.")]
    public partial void RefreshFailed(string root, Exception error);

    [LoggerMessage(413, LogLevel.Information, "{Root} is read again.")]
    public partial void RefreshRecovered(string root);
}
