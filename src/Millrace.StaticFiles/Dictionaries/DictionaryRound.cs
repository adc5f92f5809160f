using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// The files of one snapshot that concern dictionaries, found once, and how far the work on them has come: each slice of the background
/// continues where the last one ended. One thread; the snapshot may be released.
/// </summary>
internal sealed class DictionaryRound
{
    private readonly IReadOnlyList<(Asset Asset, DictionaryCoder Coder)> _all;
    private List<(Asset Asset, DictionaryCoder Coder)> _later = [];

    private DictionaryRound(
        CatalogSnapshot snapshot,
        Asset[] assets,
        List<(Asset Asset, string Family)> files,
        IReadOnlyList<DictionaryCoder> coders)
    {
        _all = [.. coders.SelectMany(coder => assets.Select(asset => (asset, coder)))];
        (Snapshot, Assets, Files, Pending) = (snapshot, assets, files, _all);
    }

    public CatalogSnapshot Snapshot { get; }

    /// <summary>All that may be coded, the smallest first.</summary>
    public IReadOnlyList<Asset> Assets { get; }

    /// <summary>Those that become dictionaries, with their families.</summary>
    public IReadOnlyList<(Asset Asset, string Family)> Files { get; }

    /// <summary>How many of <see cref="Files"/> were looked at.</summary>
    public int FilesDone { get; set; }

    /// <summary>The dictionaries that are files of the site, as far as they were looked at.</summary>
    public HashSet<(string Family, DictionaryHash Hash)> Present { get; } = [];

    /// <summary>Whether the history knows all that is present.</summary>
    public bool IsEnrolled { get; set; }

    /// <summary>Whether the dictionary of pages was brought up to date with this snapshot.</summary>
    public bool HasPages { get; set; }

    /// <summary>The files to be coded, and how: all in the first coding, all in the next one, then what had to wait.</summary>
    public IReadOnlyList<(Asset Asset, DictionaryCoder Coder)> Pending { get; private set; }

    /// <summary>How many of <see cref="Pending"/> were looked at.</summary>
    public int PendingDone { get; set; }

    /// <summary>Finds the files of a leased snapshot; null if it was cancelled.</summary>
    /// <param name="snapshot">The snapshot.</param>
    /// <param name="mayUse">Whether a file may have to do with dictionaries: asked once for each.</param>
    /// <param name="isOfFamily">Whether a file may be one of a family.</param>
    /// <param name="familyMax">A family with more files is left out.</param>
    /// <param name="coders">The codings.</param>
    /// <param name="stop">Cancels it.</param>
    public static DictionaryRound? TryBegin(
        CatalogSnapshot snapshot,
        Func<Asset, bool> mayUse,
        Func<Asset, bool> isOfFamily,
        int familyMax,
        IReadOnlyList<DictionaryCoder> coders,
        CancellationToken stop)
    {
        Asset[] assets =
        [
            .. snapshot.AssetsForDictionaries()
                .TakeWhile(_ => !stop.IsCancellationRequested)
                .Where(mayUse)
                .OrderBy(static asset => asset.Size)
                .ThenBy(static asset => asset.SitePath, SitePath.ByBytes),
        ];
        var files = new List<(Asset Asset, string Family)>();
        var sizes = new Dictionary<string, int>(StringComparer.Ordinal);
        foreach (Asset asset in assets.Where(isOfFamily).TakeWhile(_ => !stop.IsCancellationRequested))
        {
            if (DictionaryFamily.TryOf(asset.Path, out string family))
            {
                files.Add((asset, family));
                sizes[family] = sizes.GetValueOrDefault(family) + 1;
            }
        }

        files.RemoveAll(file => sizes[file.Family] > familyMax);
        return stop.IsCancellationRequested ? null : new DictionaryRound(snapshot, assets, files, coders);
    }

    /// <summary>Begins again with the same files, because the history has changed.</summary>
    public void Restart()
    {
        FilesDone = PendingDone = 0;
        IsEnrolled = false;
        Present.Clear();
        Pending = _all;
        _later = [];
    }

    /// <summary>Notes that there is more to do for a file when the others are done.</summary>
    public void Wait(Asset asset, DictionaryCoder coder) => _later.Add((asset, coder));

    /// <summary>Ends a look at <see cref="Pending"/>: the next one is at those that wait.</summary>
    public void EndPending()
    {
        (Pending, _later) = (_later, []);
        PendingDone = 0;
    }
}
