namespace Millrace.Server.Doctor;

/// <summary>The result of reading just-read bytes again with RWF_NOWAIT.</summary>
internal enum CachedRead
{
    /// <summary>There was no file for the test.</summary>
    Untried,

    /// <summary>The read completed at once.</summary>
    Inline,

    /// <summary>The file system does not support RWF_NOWAIT (EOPNOTSUPP): overlayfs and tmpfs.</summary>
    Unsupported,

    /// <summary>The read would have waited (EAGAIN): the page cache does not keep data.</summary>
    WouldWait,
}

/// <summary>The folder that would be served.</summary>
/// <param name="Path">The configured path.</param>
/// <param name="Problem">Why it cannot be read, in a clause; null if it can.</param>
/// <param name="FileSystem">The kernel's name of the file system: ext4, overlay, tmpfs, nfs4, fuse.sshfs.</param>
/// <param name="CachedRead">Whether cached bytes are read without waiting.</param>
/// <param name="Directories">The number of directories, including the root.</param>
internal sealed record RootFacts(string Path, string? Problem, string FileSystem, CachedRead CachedRead, long Directories);
