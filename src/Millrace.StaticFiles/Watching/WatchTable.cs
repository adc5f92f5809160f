using Millrace.Interop.Watching;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Which watch stands for which paths. Only directories count, however many files there are: some 300 bytes each, and what the kernel
/// keeps for a watch (about 1 KiB). Not safe for threads: its owner holds a lock.
/// </summary>
internal sealed class WatchTable(IWatchSource source, WatchMode mode)
{
    /// <summary>What becomes of names in a directory, and of the directory's own.</summary>
    public const WatchMask AnyRename = WatchMask.Create | WatchMask.Delete | WatchMask.MovedFrom | WatchMask.MovedTo
        | WatchMask.DeleteSelf | WatchMask.MoveSelf;

    /// <summary>
    /// With it, what becomes of the files: written in place (also while it goes on: what is served must be neither old nor torn), and
    /// who may read them.
    /// </summary>
    public const WatchMask AnyChange = AnyRename | WatchMask.Modify | WatchMask.CloseWrite | WatchMask.Attributes;

    private const WatchMask How = WatchMask.OnlyDirectory | WatchMask.ExcludeUnlinked | WatchMask.Add;

    private readonly Dictionary<int, Watch> _watches = [];
    private readonly Dictionary<byte[], WatchedDirectory> _directories = new(PathBytes.Comparer);
    private readonly List<Watch> _released = [];
    private int _read;

    /// <summary>Set by the first directory that cannot be watched: from then on the table is of no use.</summary>
    public Refusal? Refusal { get; private set; }

    public int WatchCount => _watches.Count;

    public int DirectoryCount => _directories.Count;

    /// <summary>Watches a directory of the site. What its symlinks passed through is forgotten: they are met again.</summary>
    public WatchedDirectory? Enter(int directoryFd, ReadOnlySpan<byte> path)
    {
        Watch? watch = Add(directoryFd, AnyChange, out Refusal refusal);
        if (watch is null)
        {
            Refusal = refusal;
            return null;
        }

        WatchedDirectory directory = FindOrCreate(path);
        directory.EnteredAt = _read;
        directory.ForgetPassages(_released.Add);
        if (directory.Watch != watch)
        {
            Detach(directory);
            directory.Watch = watch;
            watch.Attach(directory);
        }

        return directory;
    }

    /// <summary>A directory that is watched has been looked at, and is what was entered.</summary>
    public void Keep(ReadOnlySpan<byte> path)
    {
        if (Find(path) is WatchedDirectory directory)
        {
            directory.EnteredAt = _read;
        }
    }

    public WatchedDirectory? Find(ReadOnlySpan<byte> path) =>
        _directories.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(path, out WatchedDirectory? directory) ? directory : null;

    /// <summary>A directory is no longer part of the site.</summary>
    public void Leave(ReadOnlySpan<byte> path)
    {
        if (Find(path) is WatchedDirectory directory)
        {
            _ = _directories.Remove(directory.Path);
            directory.ForgetPassages(_released.Add);
            Detach(directory);
        }
    }

    /// <summary>Watches a directory in which a name is about to be looked up for a symlink of the site.</summary>
    public bool Pass(int directoryFd, ReadOnlySpan<byte> name, Dependent dependent)
    {
        bool isWatched = TryPass(directoryFd, name, dependent, out Refusal refusal);
        Refusal = isWatched ? Refusal : refusal;
        return isWatched;
    }

    /// <summary>The same for a dependent that can do without.</summary>
    public bool TryPass(int directoryFd, ReadOnlySpan<byte> name, Dependent dependent, out Refusal refusal)
    {
        Watch? watch = Add(directoryFd, dependent.Mask, out refusal);
        if (watch is not null)
        {
            dependent.PassThrough(watch, name);
        }

        return watch is not null;
    }

    public void Forget(Dependent dependent) => dependent.ForgetPassages(_released.Add);

    /// <summary>Sorts what the kernel reports into what has to be read again. True where the queue had overflowed.</summary>
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
            else if (_watches.TryGetValue(events.Current.Watch, out Watch? watch))
            {
                Collect(watch, mask, events.Name, batch, nowMs);
            }
        }

        return hasOverflowed;
    }

    /// <summary>The catalogue is about to read again.</summary>
    public void BeginRead() => _read++;

    /// <summary>
    /// It has read these, or all (null). What it was asked for and did not enter is not part of the site, even if it never
    /// said that it left: it was moved away between being entered and being served.
    /// </summary>
    public void EndRead(DirectoryChange[]? changes)
    {
        IEnumerable<WatchedDirectory?> asked = changes is null ? _directories.Values : changes.Select(change => Find(change.Path));
        foreach (WatchedDirectory? directory in asked.Where(directory => directory is not null && directory.EnteredAt != _read).ToArray())
        {
            Leave(directory!.Path);
        }

        Sweep();
    }

    /// <summary>
    /// Ends the watches that nobody needs. Not at once: who is read again lets go of its trails first, and finds most of them again.
    /// </summary>
    public void Sweep()
    {
        foreach (Watch watch in _released)
        {
            if (!watch.IsNeeded && _watches.Remove(watch.Descriptor))
            {
                source.Remove(watch.Descriptor);
            }
        }

        _released.Clear();
    }

    private void Collect(Watch watch, WatchMask mask, ReadOnlySpan<byte> name, ChangeBatch batch, long nowMs)
    {
        if ((mask & WatchMask.Ignored) != 0)
        {
            // The directory is removed; the number will not come again. Who needed it was told by its parent's watch.
            _ = _watches.Remove(watch.Descriptor);
            return;
        }

        foreach (WatchedDirectory directory in watch.Directories)
        {
            if (name.IsEmpty)
            {
                batch.Add(directory.Path, nowMs);
            }
            else
            {
                batch.Add(directory.Path, name, nowMs);
            }
        }

        foreach (Dependent dependent in name.IsEmpty ? watch.AllDependents : watch.DependentsOn(name))
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

    private Watch? Add(int directoryFd, WatchMask mask, out Refusal refusal)
    {
        refusal = default;
        if (mode != WatchMode.Inotify)
        {
            int result = WatchCalls.GetFileSystem(directoryFd, out FileSystemStatus status);
            if (result < 0 || Enum.IsDefined(status.Magic))
            {
                refusal = new Refusal(-result, status.Magic);
                return null;
            }
        }

        int descriptor = source.Add(directoryFd, mask | How);
        if (descriptor < 0)
        {
            refusal = new Refusal(-descriptor, default);
            return null;
        }

        if (!_watches.TryGetValue(descriptor, out Watch? watch))
        {
            watch = new Watch(descriptor);
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
        if (directory.Watch is Watch watch)
        {
            watch.Detach(directory);
            _released.Add(watch);
            directory.Watch = null;
        }
    }
}
