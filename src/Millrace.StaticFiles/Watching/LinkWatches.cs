using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Watches the paths that the site's symlinks lead through, including directories that are not served (a hidden <c>..data</c>): when a name
/// on such a path changes, the directory of the symlink is read again. Not thread-safe.
/// </summary>
/// <remarks>
/// A path is followed inside the root only: a symlink that leaves it is not served, and only a change inside can fix that.
/// </remarks>
internal sealed class LinkWatches(WatchTable table) : IDisposable
{
    private const int NoRoot = -1;

    private int _rootFd = NoRoot;
    private FileState _root;

    /// <summary>Sets the root that is being scanned. Keeps its own descriptor (O_PATH).</summary>
    public void StartFrom(int rootFd, in FileState root)
    {
        if (_rootFd != NoRoot && root.IsSameFile(_root))
        {
            return;
        }

        Dispose();
        _root = root;
        _rootFd = Math.Max(Open(rootFd, ".\0"u8, ResolveFlags.None), NoRoot);
    }

    /// <summary>Watches the path of a symlink, as far as it leads.</summary>
    public void Follow(ReadOnlySpan<byte> linkPath)
    {
        int slash = linkPath.LastIndexOf((byte)'/');
        if (slash < 0 || table.Find(linkPath[..slash]) is not WatchedDirectory directory)
        {
            return;
        }

        // Symlinks on the directory's own path are watched for themselves.
        int fd = Open(_rootFd, slash == 0 ? ".\0"u8 : [.. linkPath[1..slash], 0], ResolveFlags.Beneath | ResolveFlags.NoMagicLinks);
        // The directory vanished or moved since it was entered: its parent's watch reports that.
        if (fd >= 0)
        {
            _ = PathWatch.Follow(fd, linkPath[(slash + 1)..], _root, (parent, name) => table.WatchName(parent, name, directory));
        }
    }

    public void Dispose()
    {
        if (_rootFd != NoRoot)
        {
            _ = FileCalls.Close(_rootFd);
            _rootFd = NoRoot;
        }
    }

    private static int Open(int directoryFd, ReadOnlySpan<byte> pathZ, ResolveFlags resolve) =>
        FileCalls.OpenAt2(directoryFd, pathZ, new OpenHow { Flags = PathWatch.PathFlags, Resolve = resolve });
}
