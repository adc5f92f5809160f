namespace Millrace.StaticFiles;

/// <summary>How changes of the root's files are noticed.</summary>
public enum WatchMode
{
    /// <summary>By inotify where the file system tells of changes, by looking at each request where it does not (NFS, CIFS, FUSE).</summary>
    Auto,

    /// <summary>By inotify only: a change made on another machine of a network file system is seen at the next reload.</summary>
    Inotify,

    /// <summary>By looking at the file at each request: two system calls that inotify saves.</summary>
    Revalidate,

    /// <summary>Not at all: the site changes when it is reloaded (SIGHUP).</summary>
    Off,
}
