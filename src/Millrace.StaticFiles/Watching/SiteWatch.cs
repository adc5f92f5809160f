using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// All watches of one site: its directories, the paths of its symlinks, the path to its root; owns the source that reports on them. Not
/// thread-safe, except for <see cref="Source"/> as far as that is.
/// </summary>
internal sealed class SiteWatch : IDisposable
{
    private readonly RootPathWatch _rootPath;
    private readonly LinkWatches _links;

    public SiteWatch(string root, WatchMode mode, IWatchSource source)
    {
        Source = source;
        Table = new WatchTable(source, mode);
        _rootPath = new RootPathWatch(root, Table);
        _links = new LinkWatches(Table);
    }

    public IWatchSource Source { get; }

    public WatchTable Table { get; }

    /// <summary>Whether the path to the root must be polled.</summary>
    public bool MustPollRoot => _rootPath.MustPoll;

    public void Enter(int directoryFd, ReadOnlySpan<byte> path, in FileState state, ChangeBatch batch, long nowMs)
    {
        if (Table.Enter(directoryFd, path) is null || path.Length > 0)
        {
            return;
        }

        _links.StartFrom(directoryFd, state);
        _rootPath.Follow();
        // The root was opened by name before its path was watched, so another directory may have replaced it in between.
        if (!_rootPath.LeadsTo(state))
        {
            batch.AddWhole(nowMs);
        }
    }

    public void MeetSymlink(ReadOnlySpan<byte> path) => _links.Follow(path);

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
        _links.Dispose();
        Source.Dispose();
    }
}
