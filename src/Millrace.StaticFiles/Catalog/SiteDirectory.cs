using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// A directory of the site as it was when it was last listed: its files by name, the names of the directories in it, its index. Immutable;
/// a change of anything in it makes another, and shares the assets that stayed.
/// </summary>
internal sealed class SiteDirectory
{
    private readonly Asset[] _assets;
    private readonly HashIndex _byName;

    /// <param name="path">Its path.</param>
    /// <param name="state">Its state before it was listed.</param>
    /// <param name="assets">Its files, ordered by name.</param>
    /// <param name="subdirectories">The paths of the directories in it.</param>
    public SiteDirectory(SitePath path, in FileState state, Asset[] assets, SitePath[] subdirectories)
    {
        SitePath = path;
        PathHash = Catalog.PathHash.Of(path.Bytes);
        State = state;
        _assets = assets;
        _byName = HashIndex.Of<Asset>(assets, asset => Catalog.PathHash.Of(asset.SitePath.Name));
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
    /// Whether any later change of its entries shows in its state, see <see cref="FileState.IsSettledAt"/>. Not where only some of
    /// them were looked at: its state tells of all.
    /// </summary>
    public required bool IsSettled { get; init; }

    /// <summary>Whether what some entry stands for is decided elsewhere.</summary>
    public required bool HasSymlinks { get; init; }

    /// <summary>The files that were looked at too soon after their last change to have a strong tag.</summary>
    public IEnumerable<Asset> WeaklyTagged => _assets.Where(static asset => asset.EntityTag.StartsWith("W/"u8));

    /// <summary>The asset that answers for the directory, or null.</summary>
    public required Asset? Index { get; init; }

    /// <summary>The entries a walk met in it, those it skipped included, those that are hidden not.</summary>
    public required int EntryCount { get; init; }

    public required int SkippedCount { get; init; }

    /// <summary>
    /// Its entries that could not be opened and may be one day without a change of the directory: symlinks to what is not there, files
    /// that somebody else may read.
    /// </summary>
    public IReadOnlyList<SitePath> Unserved { get; init; } = [];

    /// <summary>Its files, ordered by name.</summary>
    public ReadOnlySpan<Asset> Assets => _assets;

    /// <summary>The paths of the directories in it, ordered by name.</summary>
    public IReadOnlyList<SitePath> Subdirectories { get; }

    /// <summary>Whether another listing has shown nothing else.</summary>
    public bool IsSameAs(SiteDirectory other) =>
        State == other.State
        && IsComplete == other.IsComplete
        && IsSettled == other.IsSettled
        && HasSymlinks == other.HasSymlinks
        && EntryCount == other.EntryCount
        && SkippedCount == other.SkippedCount
        && Unserved.SequenceEqual(other.Unserved)
        && Index == other.Index
        && _assets.AsSpan().SequenceEqual(other._assets)
        && Subdirectories.SequenceEqual(other.Subdirectories);

    /// <summary>The file of a name, or null.</summary>
    public Asset? Find(ReadOnlySpan<byte> name)
    {
        if (name.Length > Catalog.SitePath.NameBytesMax)
        {
            return null;
        }

        HashIndex.Candidates candidates = _byName.Find(Catalog.PathHash.Of(name));
        while (candidates.MoveNext(out int place))
        {
            // All its paths begin alike, so only their ends differ.
            Asset asset = _assets[place];
            if (asset.Path[(Path.Length + 1)..].SequenceEqual(name))
            {
                return asset;
            }
        }

        return null;
    }
}
