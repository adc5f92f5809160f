namespace Millrace.StaticFiles.Catalog;

/// <summary>Why an entry of the root is not served, or not as it should be.</summary>
internal enum SkipReason
{
    /// <summary>EACCES or EPERM: this process may not read it.</summary>
    Unreadable,

    /// <summary>
    /// EXDEV: a symlink that leaves the root. An absolute target counts as one even where it points back in: make it
    /// relative.
    /// </summary>
    OutsideRoot,

    /// <summary>ENOENT or ENOTDIR: a symlink to nothing, or a file that went away during the walk.</summary>
    Missing,

    /// <summary>ELOOP: symlinks that only lead to each other.</summary>
    SymlinkLoop,

    /// <summary>A symlink to a directory it lies in: its paths would never end.</summary>
    DirectoryCycle,

    /// <summary>A FIFO, a socket or a device: opening it could block or do something.</summary>
    NotRegular,

    /// <summary>Longer than the kernel takes in one call (PATH_MAX).</summary>
    PathTooLong,

    /// <summary>A file of rules beyond what such a file may have. The rules from before stay.</summary>
    TooLarge,

    /// <summary>It changed each time it was read, so it is not kept in memory, and read per request instead.</summary>
    KeptChanging,

    /// <summary>Any other error of the file system.</summary>
    IoError,
}
