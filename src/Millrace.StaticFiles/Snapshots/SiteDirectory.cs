using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// A directory of the site as it was last listed: its files by name, the paths of its subdirectories, its index. Immutable; any change in
/// it makes a new one that shares the unchanged assets.
/// </summary>
internal sealed class SiteDirectory
{
    private readonly Asset[] _assets;
    private readonly HashIndex _byName;

    public SiteDirectory(SitePath path, in FileState state, Asset[] assets, SitePath[] subdirectories)
    {
        SitePath = path;
        PathHash = Snapshots.PathHash.Of(path.Bytes);
        State = state;
        _assets = assets;
        _byName = HashIndex.Of<Asset>(assets, asset => Snapshots.PathHash.Of(asset.SitePath.Name));
        Subdirectories = subdirectories;
    }

    /// <summary>From the root with a leading '/'; the root's own is empty.</summary>
    public ReadOnlySpan<byte> Path => SitePath.Bytes;

    public SitePath SitePath { get; }

    public ulong PathHash { get; }

    public FileState State { get; }

    /// <summary>Whether all of it could be read.</summary>
    public required bool IsComplete { get; init; }

    /// <summary>
    /// Whether any later change of its entries shows in its state, see <see cref="FileState.IsSettledAt"/>. False if only some entries were
    /// checked, because the state covers all of them.
    /// </summary>
    public required bool IsSettled { get; init; }

    /// <summary>Whether it has symlinks, so that changes elsewhere can change what its entries are.</summary>
    public required bool HasSymlinks { get; init; }

    /// <summary>The files that were read too soon after their last change to have a strong tag.</summary>
    public IEnumerable<Asset> WeaklyTagged => _assets.Where(static asset => asset.EntityTag.StartsWith("W/"u8));

    /// <summary>The asset that serves the directory itself, or null.</summary>
    public required Asset? Index { get; init; }

    /// <summary>The entries that the scan met, including skipped ones, excluding hidden ones.</summary>
    public required int EntryCount { get; init; }

    public required int SkippedCount { get; init; }

    /// <summary>
    /// Entries that could not be opened and may become available without a change of the directory: dangling symlinks, unreadable files.
    /// </summary>
    public IReadOnlyList<SitePath> Unserved { get; init; } = [];

    /// <summary>Its entries that lead to directories listed under another path, ordered by name.</summary>
    public IReadOnlyList<DirectoryAlias> Aliases { get; init; } = [];

    /// <summary>
    /// Whether its path contains a symlink. Then its subdirectories may have other paths too and are compared with all known directories.
    /// </summary>
    public bool IsBelowLink { get; init; }

    /// <summary>Its files, ordered by name.</summary>
    public ReadOnlySpan<Asset> Assets => _assets;

    /// <summary>The paths of the directories in it, ordered by name.</summary>
    public IReadOnlyList<SitePath> Subdirectories { get; }

    /// <summary>Whether another listing had the same result.</summary>
    public bool IsSameAs(SiteDirectory other) =>
        State == other.State
        && IsComplete == other.IsComplete
        && IsSettled == other.IsSettled
        && HasSymlinks == other.HasSymlinks
        && EntryCount == other.EntryCount
        && SkippedCount == other.SkippedCount
        && IsBelowLink == other.IsBelowLink
        && Unserved.SequenceEqual(other.Unserved)
        && Index == other.Index
        && _assets.AsSpan().SequenceEqual(other._assets)
        && Subdirectories.SequenceEqual(other.Subdirectories)
        && Aliases.Count == other.Aliases.Count
        && Aliases.Zip(other.Aliases).All(static pair => pair.First.IsSameAs(pair.Second));

    public DirectoryAlias? FindAlias(ReadOnlySpan<byte> name) =>
        Snapshots.SitePath.IndexOfName(Aliases, static alias => alias.Path, name) is >= 0 and int index ? Aliases[index] : null;

    public Asset? Find(ReadOnlySpan<byte> name)
    {
        if (name.Length > Snapshots.SitePath.NameBytesMax)
        {
            return null;
        }

        HashIndex.Candidates candidates = _byName.Find(Snapshots.PathHash.Of(name));
        while (candidates.MoveNext(out int index))
        {
            // All its paths share a prefix: only their ends differ.
            Asset asset = _assets[index];
            if (asset.Path[(Path.Length + 1)..].SequenceEqual(name))
            {
                return asset;
            }
        }

        return null;
    }
}

/// <summary>
/// A directory entry (a symlink, say) that leads to a directory of the site which is listed under another, its primary path, and the state
/// of that directory when the entry was read. Immutable.
/// </summary>
internal readonly record struct DirectoryAlias(SitePath Path, SitePath Target, FileState State)
{
    /// <summary>Whether both lead to the same directory, whatever its entries.</summary>
    public bool IsSameAs(in DirectoryAlias other) =>
        Path.Equals(other.Path) && Target.Equals(other.Target) && State.IsSameFile(other.State);
}
