namespace Millrace.StaticFiles;

/// <summary>How changes of files are found.</summary>
public enum WatchMode
{
    /// <summary>By inotify where it sees every change, else by revalidation. The default.</summary>
    Auto,

    /// <summary>
    /// By inotify, on any file system. On one that is shared with other machines their changes go unseen. Where the kernel takes no
    /// more watches, it is revalidation all the same.
    /// </summary>
    Inotify,

    /// <summary>By looking at the file and its directory at each request.</summary>
    Revalidate,

    /// <summary>Not at all: only a reload shows changes.</summary>
    Off,
}
