using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// The ways that the symlinks of a site take, through directories that are walked and through those that are not (a hidden
/// <c>..data</c>): the directory of a symlink is read again when a name on its way changes. Not safe for threads.
/// </summary>
/// <remarks>A way never leaves the root: what would is not served, and only a change inside could mend that.</remarks>
internal sealed class LinkTrails(WatchTable table) : IDisposable
{
    private const int NoRoot = -1;

    private int _rootFd = NoRoot;
    private FileState _root;

    /// <summary>The root that is being walked. Keeps a descriptor of its own, by which nothing can be read.</summary>
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

    /// <summary>Watches the way of a symlink, as far as it leads.</summary>
    public void Follow(ReadOnlySpan<byte> linkPath)
    {
        int slash = linkPath.LastIndexOf((byte)'/');
        if (slash < 0 || table.Find(linkPath[..slash]) is not WatchedDirectory directory)
        {
            return;
        }

        // What the directory's own path passes through is watched for the symlinks in it.
        int fd = Open(_rootFd, slash == 0 ? ".\0"u8 : [.. linkPath[1..slash], 0], ResolveFlags.Beneath | ResolveFlags.NoMagicLinks);
        // Gone or moved since it was entered: its parent says so.
        if (fd >= 0)
        {
            _ = Trail.Follow(fd, linkPath[(slash + 1)..], _root, (passed, name) => table.Pass(passed, name, directory));
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
        FileCalls.OpenAt2(directoryFd, pathZ, new OpenHow { Flags = Trail.Standpoint, Resolve = resolve });
}
