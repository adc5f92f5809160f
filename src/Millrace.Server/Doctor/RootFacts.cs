namespace Millrace.Server.Doctor;

/// <summary>What a read of bytes that were just read came to, asked for with RWF_NOWAIT.</summary>
internal enum CachedRead
{
    /// <summary>There was no file to try it on.</summary>
    Untried,

    /// <summary>It completed at once.</summary>
    Inline,

    /// <summary>The file system cannot be asked so (EOPNOTSUPP): overlayfs and tmpfs.</summary>
    Unsupported,

    /// <summary>It would have waited (EAGAIN): the page cache does not keep what was read.</summary>
    WouldWait,
}

/// <summary>The folder that would be served.</summary>
/// <param name="Path">As it was given.</param>
/// <param name="Problem">Why it cannot be read, in a clause; null where it can.</param>
/// <param name="FileSystem">As the kernel calls it: ext4, overlay, tmpfs, nfs4, fuse.sshfs.</param>
/// <param name="CachedRead">Whether cached bytes come at once.</param>
/// <param name="Directories">Directories in it, itself included.</param>
internal sealed record RootFacts(string Path, string? Problem, string FileSystem, CachedRead CachedRead, long Directories);
