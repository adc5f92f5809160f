using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Observes which directories a catalog reads, so that no change is missed. Called on the thread that opens, reloads or refreshes the
/// catalog, one call at a time. Paths are from the root with a leading '/', empty for the root, and valid only during the call.
/// </summary>
internal interface IDirectoryObserver
{
    /// <summary>
    /// A directory is about to be listed by this descriptor, which the scanner closes: report every change from now on as a refresh. Called
    /// for each listing, also of a known directory.
    /// </summary>
    void Entering(int directoryFd, ReadOnlySpan<byte> path, in FileState state);

    /// <summary>A known directory is unchanged, and only some of its entries are about to be read.</summary>
    void Keeping(ReadOnlySpan<byte> path);

    /// <summary>An entry is a symlink, to a file, a directory or nothing.</summary>
    void MetSymlink(ReadOnlySpan<byte> path);

    /// <summary>A directory is no longer part of the site. Called after the swap.</summary>
    void Left(ReadOnlySpan<byte> path);
}

/// <summary>A catalog that can rescan changed files. Any thread; both methods return after the change is visible to all.</summary>
internal interface IRefreshable
{
    /// <summary>
    /// Rescans what changed in these directories, and what is new below them, in one swap. At most one change for each directory; unknown
    /// directories are ignored.
    /// </summary>
    void Refresh(IReadOnlyCollection<DirectoryChange> changes);

    /// <summary>Rescans the whole site from the root's name.</summary>
    void Reload();
}

/// <summary>A directory that changed: entries of some names, or anything.</summary>
/// <param name="Path">From the root with a leading '/'; the root's own is empty.</param>
/// <param name="Names">The names whose entries appeared, changed or vanished; null if it may be anything.</param>
internal sealed record DirectoryChange(byte[] Path, IReadOnlyCollection<byte[]>? Names = null);
