using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// All that is watched of one site: its directories, the ways of its symlinks, the way to its root; and the source that reports on them,
/// which it owns. Not safe for threads, but for what concerns the source only.
/// </summary>
internal sealed class SiteWatch : IDisposable
{
    private readonly RootTrail _rootTrail;
    private readonly LinkTrails _linkTrails;

    public SiteWatch(string root, WatchMode mode, IWatchSource source)
    {
        Source = source;
        Table = new WatchTable(source, mode);
        _rootTrail = new RootTrail(root, Table);
        _linkTrails = new LinkTrails(Table);
    }

    public IWatchSource Source { get; }

    public WatchTable Table { get; }

    /// <summary>Whether the way to the root must be looked at by hand.</summary>
    public bool IsRootBlind => _rootTrail.IsBlind;

    public void Enter(int directoryFd, ReadOnlySpan<byte> path, in FileState state, ChangeBatch batch, long nowMs)
    {
        if (Table.Enter(directoryFd, path) is null || path.Length > 0)
        {
            return;
        }

        _linkTrails.StartFrom(directoryFd, state);
        _rootTrail.Follow();
        // It was opened by its name before the way was watched: in between, another may have been put in its place.
        if (!_rootTrail.LeadsTo(state))
        {
            batch.AddWhole(nowMs);
        }
    }

    public void MeetSymlink(ReadOnlySpan<byte> path) => _linkTrails.Follow(path);

    /// <summary>Sorts records into the batch. True where the kernel had dropped some.</summary>
    public bool Collect(ReadOnlySpan<byte> records, ChangeBatch batch, long nowMs)
    {
        if (_rootTrail.IsBlind && _rootTrail.HasTurned())
        {
            batch.AddWhole(nowMs);
        }

        return Table.Collect(records, batch, nowMs);
    }

    /// <summary>
    /// The catalogue is about to read these, or all (null). A root that is not there is waited for, whatever is put in the
    /// way to it.
    /// </summary>
    public void BeginRead(DirectoryChange[]? changes)
    {
        Table.BeginRead();
        if (changes is null)
        {
            _rootTrail.Follow();
        }
    }

    public void Dispose()
    {
        _linkTrails.Dispose();
        Source.Dispose();
    }
}
