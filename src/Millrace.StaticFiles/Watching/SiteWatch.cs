using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// All watches of one site: its directories, the path to its root, and the paths that its symlinks lead through, including directories that
/// are not served (a hidden <c>..data</c>). Owns the source that reports on them. Not thread-safe, except for <see cref="Source"/> as far
/// as that is.
/// </summary>
/// <remarks>
/// The path of a symlink is followed inside the root only: a symlink that leaves it is not served, and only a change inside can fix that.
/// </remarks>
internal sealed class SiteWatch : IDisposable
{
    private const int NoRoot = -1;

    private readonly RootPathWatch _rootPath;

    /// <summary>The root that is being scanned, by a descriptor (O_PATH) of this object.</summary>
    private int _rootFd = NoRoot;
    private FileState _root;

    public SiteWatch(string root, WatchMode mode, IWatchSource source)
    {
        Source = source;
        Table = new WatchTable(source, mode);
        _rootPath = new RootPathWatch(root, Table);
    }

    public IWatchSource Source { get; }

    public WatchTable Table { get; }

    public bool MustPollRoot => _rootPath.MustPoll;

    public void Enter(int directoryFd, ReadOnlySpan<byte> path, in FileState state, ChangeBatch batch, long nowMs)
    {
        if (Table.Enter(directoryFd, path) is null || path.Length > 0)
        {
            return;
        }

        if (_rootFd == NoRoot || !state.IsSameFile(_root))
        {
            CloseRoot();
            _root = state;
            _rootFd = Math.Max(Open(directoryFd, ".\0"u8, ResolveFlags.None), NoRoot);
        }

        _rootPath.Follow();
        // The root was opened by name before its path was watched, so another directory may have replaced it in between.
        if (!_rootPath.LeadsTo(state))
        {
            batch.AddWhole(nowMs);
        }
    }

    /// <summary>
    /// Watches the path of a symlink, as far as it leads: when a name on it changes, the directory of the symlink is read again.
    /// </summary>
    public void MeetSymlink(ReadOnlySpan<byte> path)
    {
        int slash = path.LastIndexOf((byte)'/');
        if (slash < 0 || Table.Find(path[..slash]) is not WatchedDirectory directory)
        {
            return;
        }

        // Symlinks on the directory's own path are watched for themselves.
        int fd = Open(_rootFd, slash == 0 ? ".\0"u8 : [.. path[1..slash], 0], ResolveFlags.Beneath | ResolveFlags.NoMagicLinks);
        // The directory vanished or moved since it was entered: its parent's watch reports that.
        if (fd >= 0)
        {
            _ = PathWatch.Follow(fd, path[(slash + 1)..], _root, (parent, name) => Table.WatchName(parent, name, directory));
        }
    }

    /// <summary>Sorts records into the batch. True if the kernel dropped some.</summary>
    public bool Collect(ReadOnlySpan<byte> records, ChangeBatch batch, long nowMs)
    {
        if (_rootPath.MustPoll && _rootPath.HasChanged())
        {
            batch.AddWhole(nowMs);
        }

        return Table.Collect(records, batch, nowMs);
    }

    /// <summary>
    /// The catalog is about to read these changes, or the whole site (null). A missing root is also waited for, wherever on its path it
    /// reappears.
    /// </summary>
    public void BeginRead(DirectoryChange[]? changes)
    {
        Table.BeginRead();
        if (changes is null)
        {
            _rootPath.Follow();
        }
    }

    public void Dispose()
    {
        CloseRoot();
        Source.Dispose();
    }

    private void CloseRoot()
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
