using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The symlinks to directories that a scan has met and not resolved yet, and the primary path of each directory. Used on the scan's thread.
/// </summary>
internal sealed class DeferredLinks
{
    private readonly PriorityQueue<DeferredLink, SitePath> _deferred = new(Comparer<SitePath>.Create(ShortestFirst));
    private readonly Dictionary<(uint Device, ulong Inode), List<SitePath>> _primaries = [];
    private DirectoryTable _previous = DirectoryTable.Empty;

    /// <summary>
    /// Sets the directories of the previous snapshot, which this scan may leave unlisted. Indexed when the first symlink is resolved.
    /// </summary>
    public void UsePrevious(DirectoryTable previous) => _previous = previous;

    public void NotePrimary(SitePath path, in FileState state)
    {
        List<SitePath> primaries = PrimariesOf(state);
        if (!primaries.Contains(path))
        {
            primaries.Add(path);
        }
    }

    public void Defer(ListedDirectory holder, SitePath path, in FileState state, bool isSymlink) =>
        _deferred.Enqueue(new DeferredLink(holder, path, state, isSymlink), path);

    /// <summary>The next deferred link, shortest path first, so that every scan chooses the same primary paths.</summary>
    public bool TryTake(out DeferredLink link) => _deferred.TryDequeue(out link, out _);

    /// <summary>The primary path of a directory, or null if it has none.</summary>
    public SitePath? PrimaryOf(in FileState state, Func<SitePath, FileState, bool> isCurrent)
    {
        foreach (SiteDirectory directory in _previous.Directories)
        {
            NotePrimary(directory.SitePath, directory.State);
        }

        _previous = DirectoryTable.Empty;
        foreach (SitePath primary in PrimariesOf(state))
        {
            if (isCurrent(primary, state))
            {
                return primary;
            }
        }

        return null;
    }

    private List<SitePath> PrimariesOf(in FileState state)
    {
        (uint, ulong) key = (state.Device, state.Inode);
        if (!_primaries.TryGetValue(key, out List<SitePath>? primaries))
        {
            primaries = new List<SitePath>(1);
            _primaries.Add(key, primaries);
        }

        return primaries;
    }

    private static int ShortestFirst(SitePath left, SitePath right)
    {
        int byLength = left.Bytes.Length.CompareTo(right.Bytes.Length);
        return byLength != 0 ? byLength : left.Bytes.SequenceCompareTo(right.Bytes);
    }
}

/// <summary>
/// An entry that leads to a directory which may be part of the site under another path. If it is not a symlink itself, it is below one, or
/// a mount of a directory above.
/// </summary>
internal readonly record struct DeferredLink(ListedDirectory Holder, SitePath Path, FileState State, bool IsSymlink);
