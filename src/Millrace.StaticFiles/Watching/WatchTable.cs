using Millrace.Interop.Watching;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Maps watches to paths. Its size depends on directories only, not files: some 300 bytes each, plus what the kernel keeps for a watch
/// (about 1 KiB). Not thread-safe: its owner holds a lock.
/// </summary>
internal sealed class WatchTable(IWatchSource source, WatchMode mode)
{
    /// <summary>Changes of the names in a directory, and of the directory's own.</summary>
    public const WatchMask AnyRename = WatchMask.Create | WatchMask.Delete | WatchMask.MovedFrom | WatchMask.MovedTo
        | WatchMask.DeleteSelf | WatchMask.MoveSelf;

    /// <summary>
    /// Also changes of files: writes in place (also while they continue, so that neither old nor torn content is served), and permissions.
    /// </summary>
    public const WatchMask AnyChange = AnyRename | WatchMask.Modify | WatchMask.CloseWrite | WatchMask.Attributes;

    private const WatchMask AddFlags = WatchMask.OnlyDirectory | WatchMask.ExcludeUnlinked | WatchMask.Add;

    private readonly Dictionary<int, DirectoryWatch> _watches = [];
    private readonly Dictionary<byte[], WatchedDirectory> _directories = new(BytesComparer.Instance);
    private readonly List<DirectoryWatch> _released = [];
    private int _readNumber;

    /// <summary>Set by the first directory that cannot be watched; the table is useless from then on.</summary>
    public WatchRefusal? Refusal { get; private set; }

    public int WatchCount => _watches.Count;

    public int DirectoryCount => _directories.Count;

    /// <summary>
    /// Watches a directory of the site. Dependencies of its symlinks are cleared, because the listing reports the symlinks again.
    /// </summary>
    public WatchedDirectory? Enter(int directoryFd, ReadOnlySpan<byte> path)
    {
        DirectoryWatch? watch = Add(directoryFd, AnyChange, out WatchRefusal refusal);
        if (watch is null)
        {
            Refusal = refusal;
            return null;
        }

        WatchedDirectory directory = FindOrCreate(path);
        directory.LastReadNumber = _readNumber;
        directory.ClearDependencies(_released.Add);
        if (directory.Watch != watch)
        {
            Detach(directory);
            directory.Watch = watch;
            watch.Directories.Add(directory);
        }

        return directory;
    }

    /// <summary>A watched directory was checked and is still the one that was entered.</summary>
    public void Keep(ReadOnlySpan<byte> path)
    {
        if (Find(path) is WatchedDirectory directory)
        {
            directory.LastReadNumber = _readNumber;
        }
    }

    public WatchedDirectory? Find(ReadOnlySpan<byte> path) =>
        _directories.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(path, out WatchedDirectory? directory) ? directory : null;

    /// <summary>Removes a directory that is no longer part of the site.</summary>
    public void Leave(ReadOnlySpan<byte> path)
    {
        if (Find(path) is WatchedDirectory directory)
        {
            _ = _directories.Remove(directory.Path);
            directory.ClearDependencies(_released.Add);
            Detach(directory);
        }
    }

    /// <summary>Watches a directory in which a name is about to be looked up for a symlink of the site.</summary>
    public bool WatchName(int directoryFd, ReadOnlySpan<byte> name, DependencyWatch dependent)
    {
        bool isWatched = TryWatchName(directoryFd, name, dependent, out WatchRefusal refusal);
        Refusal = isWatched ? Refusal : refusal;
        return isWatched;
    }

    /// <summary>As <see cref="WatchName"/>, for a dependent that can do without: a failure does not set <see cref="Refusal"/>.</summary>
    public bool TryWatchName(int directoryFd, ReadOnlySpan<byte> name, DependencyWatch dependent, out WatchRefusal refusal)
    {
        DirectoryWatch? watch = Add(directoryFd, dependent.Mask, out refusal);
        if (watch is not null)
        {
            dependent.DependOn(watch, name);
        }

        return watch is not null;
    }

    public void Forget(DependencyWatch dependent) => dependent.ClearDependencies(_released.Add);

    /// <summary>Sorts the kernel's records into what must be read again. True if the queue overflowed.</summary>
    public bool Collect(ReadOnlySpan<byte> records, ChangeBatch batch, long nowMs)
    {
        bool hasOverflowed = false;
        var events = new InotifyEvents(records);
        while (events.MoveNext())
        {
            WatchMask mask = events.Current.Mask;
            if ((mask & (WatchMask.QueueOverflow | WatchMask.Unmount)) != 0)
            {
                hasOverflowed |= (mask & WatchMask.QueueOverflow) != 0;
                batch.AddWhole(nowMs);
            }
            else if (_watches.TryGetValue(events.Current.Watch, out DirectoryWatch? watch))
            {
                Collect(watch, mask, events.Name, batch, nowMs);
            }
        }

        return hasOverflowed;
    }

    /// <summary>The catalog is about to read changes.</summary>
    public void BeginRead() => _readNumber++;

    /// <summary>
    /// The catalog has read these changes, or the whole site (null). A requested directory that was not entered is no longer part of the
    /// site, even without a call of <see cref="Leave"/>: it was moved away between being entered and being served.
    /// </summary>
    public void EndRead(DirectoryChange[]? changes)
    {
        IEnumerable<WatchedDirectory?> requested = changes is null ? _directories.Values : changes.Select(change => Find(change.Path));
        WatchedDirectory?[] gone = [.. requested.Where(directory => directory is not null && directory.LastReadNumber != _readNumber)];
        foreach (WatchedDirectory? directory in gone)
        {
            Leave(directory!.Path);
        }

        Sweep();
    }

    /// <summary>
    /// Removes unused watches. Deferred, because a directory that is read again first clears its dependencies and then needs most of them
    /// again.
    /// </summary>
    public void Sweep()
    {
        foreach (DirectoryWatch watch in _released)
        {
            if (!watch.IsNeeded && _watches.Remove(watch.Descriptor))
            {
                source.Remove(watch.Descriptor);
            }
        }

        _released.Clear();
    }

    private void Collect(DirectoryWatch watch, WatchMask mask, ReadOnlySpan<byte> name, ChangeBatch batch, long nowMs)
    {
        if ((mask & WatchMask.Ignored) != 0)
        {
            // The directory was removed; its descriptor is not reused. Dependents were notified by its parent's watch.
            _ = _watches.Remove(watch.Descriptor);
            return;
        }

        foreach (WatchedDirectory directory in watch.Directories)
        {
            batch.Add(directory.Path, name, nowMs);
        }

        foreach (DependencyWatch dependent in name.IsEmpty ? watch.AllDependents : watch.DependentsOn(name))
        {
            if ((dependent.Mask & mask) == 0)
            {
                continue;
            }

            if (dependent is WatchedDirectory directory)
            {
                batch.Add(directory.Path, nowMs);
            }
            else
            {
                batch.AddWhole(nowMs);
            }
        }
    }

    private DirectoryWatch? Add(int directoryFd, WatchMask mask, out WatchRefusal refusal)
    {
        refusal = default;
        if (mode != WatchMode.Inotify)
        {
            int result = WatchCalls.GetFileSystem(directoryFd, out FileSystemStatus status);
            if (result < 0 || Enum.IsDefined(status.Magic))
            {
                refusal = new WatchRefusal(-result, status.Magic);
                return null;
            }
        }

        int descriptor = source.Add(directoryFd, mask | AddFlags);
        if (descriptor < 0)
        {
            refusal = new WatchRefusal(-descriptor, default);
            return null;
        }

        if (!_watches.TryGetValue(descriptor, out DirectoryWatch? watch))
        {
            watch = new DirectoryWatch(descriptor);
            _watches.Add(descriptor, watch);
        }

        return watch;
    }

    private WatchedDirectory FindOrCreate(ReadOnlySpan<byte> path)
    {
        WatchedDirectory? directory = Find(path);
        if (directory is null)
        {
            directory = new WatchedDirectory(path.ToArray());
            _directories.Add(directory.Path, directory);
        }

        return directory;
    }

    private void Detach(WatchedDirectory directory)
    {
        if (directory.Watch is DirectoryWatch watch)
        {
            watch.Directories.Remove(directory);
            _released.Add(watch);
            directory.Watch = null;
        }
    }
}

/// <summary>
/// Why a directory cannot be watched: the kernel's error, or 0 for a file system whose changes inotify does not all report.
/// </summary>
internal readonly record struct WatchRefusal(int Error, FileSystemMagic FileSystem);
