namespace Millrace.StaticFiles.Snapshots;

/// <summary>Why an entry of the root is not served, or not as usual.</summary>
internal enum SkipReason
{
    /// <summary>EACCES or EPERM: this process may not read it.</summary>
    Unreadable,

    /// <summary>
    /// EXDEV: a symlink that leaves the root. An absolute target counts as one even if it points back inside: make it relative.
    /// </summary>
    OutsideRoot,

    /// <summary>ENOENT or ENOTDIR: a dangling symlink, or a file that vanished during the scan.</summary>
    Missing,

    /// <summary>ELOOP: symlinks that only lead to each other.</summary>
    SymlinkLoop,

    /// <summary>A symlink to a directory that contains it: its paths would never end.</summary>
    DirectoryCycle,

    /// <summary>A FIFO, a socket or a device: opening it could block or have side effects.</summary>
    NotRegular,

    /// <summary>Longer than the kernel takes in one call (PATH_MAX).</summary>
    PathTooLong,

    /// <summary>A rule file larger than allowed. The previous rules stay.</summary>
    TooLarge,

    /// <summary>It changed during each read, so it is not kept in memory but read per request.</summary>
    ChangedDuringRead,

    /// <summary>A private file of the server: a key, a password file, its configuration or log, or a coded copy of one.</summary>
    Private,

    /// <summary>Its size differs from the reported one, and its content exceeds the limit for such files.</summary>
    SizeUntrue,

    /// <summary>Any other file system error.</summary>
    IoError,
}

internal static class SkipReasonText
{
    /// <summary>The reason in a clause, for messages.</summary>
    public static string Describe(this SkipReason reason) => reason switch
    {
        SkipReason.Unreadable => "no permission",
        SkipReason.OutsideRoot => "leads out of the root",
        SkipReason.Missing => "does not exist",
        SkipReason.SymlinkLoop => "symlinks lead to each other",
        SkipReason.DirectoryCycle => "leads to a directory that contains it",
        SkipReason.NotRegular => "not a regular file",
        SkipReason.PathTooLong => "path too long",
        SkipReason.TooLarge => "too large",
        SkipReason.ChangedDuringRead => "changed while it was read",
        SkipReason.Private => "private file of the server",
        SkipReason.SizeUntrue => "reports a false size",
        _ => "read error",
    };
}

/// <summary>An entry that is not served, for the log: the directory whose listing met it, and its path as text; "/" for the root.</summary>
internal readonly record struct SkippedEntry(SitePath Directory, string Path, SkipReason Reason, int Error);
