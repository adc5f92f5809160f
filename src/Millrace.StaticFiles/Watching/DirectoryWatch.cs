using Millrace.Interop.Watching;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// A kernel watch of one directory and its users: the site's directories that it is (several if symlinks lead to it) and those whose
/// symlinks lead through it. Removed when it has no users.
/// </summary>
internal sealed class DirectoryWatch(int descriptor)
{
    private Dictionary<byte[], List<DependencyWatch>>? _dependents;

    /// <summary>The inotify watch descriptor; the kernel reuses it only after 2³¹ others.</summary>
    public int Descriptor => descriptor;

    /// <summary>The site's directories that it is.</summary>
    public List<WatchedDirectory> Directories { get; } = new(1);

    public bool IsNeeded => Directories.Count > 0 || _dependents is { Count: > 0 };

    /// <summary>False if the dependent is notified already: as the directory itself, or by the latest entry of this name.</summary>
    public bool TryAddDependent(ReadOnlySpan<byte> name, DependencyWatch dependent, out byte[] kept)
    {
        kept = [];
        if (dependent is WatchedDirectory directory && Directories.Contains(directory))
        {
            return false;
        }

        _dependents ??= new Dictionary<byte[], List<DependencyWatch>>(BytesComparer.Instance);
        Dictionary<byte[], List<DependencyWatch>>.AlternateLookup<ReadOnlySpan<byte>> byName =
            _dependents.GetAlternateLookup<ReadOnlySpan<byte>>();
        if (!byName.TryGetValue(name, out byte[]? known, out List<DependencyWatch>? dependents))
        {
            kept = name.ToArray();
            _dependents.Add(kept, [dependent]);
            return true;
        }

        // The symlinks of one directory are added in sequence, so comparing the last entry suffices.
        if (ReferenceEquals(dependents[^1], dependent))
        {
            return false;
        }

        kept = known;
        dependents.Add(dependent);
        return true;
    }

    public void RemoveDependent(byte[] name, DependencyWatch dependent)
    {
        if (_dependents is not null && _dependents.TryGetValue(name, out List<DependencyWatch>? dependents))
        {
            _ = dependents.Remove(dependent);
            if (dependents.Count == 0)
            {
                _ = _dependents.Remove(name);
            }
        }
    }

    public IReadOnlyList<DependencyWatch> DependentsOn(ReadOnlySpan<byte> name) =>
        _dependents is not null
            && _dependents.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(name, out List<DependencyWatch>? dependents)
            ? dependents
            : [];

    public IEnumerable<DependencyWatch> AllDependents => _dependents?.Values.SelectMany(dependents => dependents) ?? [];
}

/// <summary>
/// Something to be rescanned when a name in some directory changes: a directory whose symlinks lead through there, or the root's own path.
/// </summary>
internal class DependencyWatch(WatchMask mask)
{
    private List<(DirectoryWatch Watch, byte[] Name)>? _dependencies;

    /// <summary>The changes of a name that matter to it.</summary>
    public WatchMask Mask => mask;

    public void DependOn(DirectoryWatch watch, ReadOnlySpan<byte> name)
    {
        if (watch.TryAddDependent(name, this, out byte[] kept))
        {
            _dependencies ??= [];
            _dependencies.Add((watch, kept));
        }
    }

    /// <summary>Removes all dependencies; reports the directories that it no longer needs.</summary>
    public void ClearDependencies(Action<DirectoryWatch> released)
    {
        List<(DirectoryWatch Watch, byte[] Name)>? dependencies = _dependencies;
        _dependencies = null;
        foreach ((DirectoryWatch watch, byte[] name) in dependencies ?? [])
        {
            watch.RemoveDependent(name, this);
            released(watch);
        }
    }
}

/// <summary>A directory of the site under one path, with the watch of the directory that the path led to when it was listed.</summary>
internal sealed class WatchedDirectory(byte[] path) : DependencyWatch(WatchTable.AnyChange)
{
    public byte[] Path => path;

    public DirectoryWatch? Watch { get; set; }

    /// <summary>The number of the catalog read during which it was last listed.</summary>
    public int LastReadNumber { get; set; }
}
