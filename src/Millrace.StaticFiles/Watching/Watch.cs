using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// A directory that the kernel reports on, for whoever needs it: the site's directories that it is (several where symlinks lead to it)
/// and those that only pass through it. Ends when nobody is left.
/// </summary>
internal sealed class Watch(int descriptor)
{
    private readonly List<WatchedDirectory> _directories = new(1);
    private Dictionary<byte[], List<Dependent>>? _dependents;

    /// <summary>The kernel's number; not used again before 2³¹ others were.</summary>
    public int Descriptor => descriptor;

    public IReadOnlyList<WatchedDirectory> Directories => _directories;

    public bool IsNeeded => _directories.Count > 0 || _dependents is { Count: > 0 };

    public void Attach(WatchedDirectory directory) => _directories.Add(directory);

    public void Detach(WatchedDirectory directory) => _directories.Remove(directory);

    /// <summary>False where it is told already, as the directory itself or by this very name a moment ago.</summary>
    public bool TryAddDependent(ReadOnlySpan<byte> name, Dependent dependent, out byte[] kept)
    {
        kept = [];
        if (dependent is WatchedDirectory directory && _directories.Contains(directory))
        {
            return false;
        }

        _dependents ??= new Dictionary<byte[], List<Dependent>>(PathBytes.Comparer);
        Dictionary<byte[], List<Dependent>>.AlternateLookup<ReadOnlySpan<byte>> byName =
            _dependents.GetAlternateLookup<ReadOnlySpan<byte>>();
        if (!byName.TryGetValue(name, out byte[]? known, out List<Dependent>? dependents))
        {
            kept = name.ToArray();
            _dependents.Add(kept, [dependent]);
            return true;
        }

        // The symlinks of one directory come one after the other.
        if (ReferenceEquals(dependents[^1], dependent))
        {
            return false;
        }

        kept = known;
        dependents.Add(dependent);
        return true;
    }

    public void RemoveDependent(byte[] name, Dependent dependent)
    {
        if (_dependents is not null && _dependents.TryGetValue(name, out List<Dependent>? dependents))
        {
            _ = dependents.Remove(dependent);
            if (dependents.Count == 0)
            {
                _ = _dependents.Remove(name);
            }
        }
    }

    /// <summary>Who depends on a name here.</summary>
    public IReadOnlyList<Dependent> DependentsOn(ReadOnlySpan<byte> name) =>
        _dependents is not null && _dependents.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(name, out List<Dependent>? dependents)
            ? dependents
            : [];

    /// <summary>Who depends on any name here.</summary>
    public IEnumerable<Dependent> AllDependents => _dependents?.Values.SelectMany(dependents => dependents) ?? [];
}
