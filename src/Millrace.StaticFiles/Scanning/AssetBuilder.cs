using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// Gives the files of listed directories their assets: the previous snapshot's where nothing changed, otherwise new ones. Owns the assets
/// it loads until <see cref="Commit"/>; without a commit, disposal frees them.
/// </summary>
internal sealed class AssetBuilder(
    SiteOptions options, AssetLoader loader, AssetResources resources, SnapshotBudget budget) : IDisposable
{
    private readonly List<Asset> _loaded = [];

    public void Run(IReadOnlyCollection<ListedDirectory> directories)
    {
        foreach (ListedDirectory directory in directories)
        {
            CarryOver(directory);
        }

        Load(directories);
        foreach (ListedDirectory directory in directories)
        {
            PairSiblings(directory);
        }
    }

    /// <summary>Passes the loaded assets to the snapshot.</summary>
    public void Commit() => _loaded.Clear();

    public void Dispose()
    {
        foreach (Asset asset in _loaded)
        {
            resources.Free(asset);
        }
    }

    private void CarryOver(ListedDirectory directory)
    {
        foreach (ListedFile file in directory.Files)
        {
            if ((file.Previous ?? directory.Previous?.Find(file.Path.Name)) is { IsSettled: true } known && known.State == file.State)
            {
                file.Asset = known;
                file.IsCarriedOver = true;
                budget.Carry(known);
            }
        }
    }

    /// <summary>
    /// Loads smaller files first, for memory, descriptors and tags alike. Caching saves a request a read, or an open and a close, which is
    /// the same for every file; it costs the file's size. So a budget saves most on the smallest files, where these calls are also the
    /// largest part of a response. Equal sizes go by path, so that replicas of a site decide alike.
    /// </summary>
    private void Load(IReadOnlyCollection<ListedDirectory> directories)
    {
        var queue = new List<(ListedDirectory Directory, ListedFile File)>();
        foreach (ListedDirectory directory in directories)
        {
            foreach (ListedFile file in directory.Files)
            {
                // The budget only shrinks from here on: what cannot improve now need not be sorted.
                if (file.Asset is null || (IsDegraded(file.Asset) && CanImprove(file.Asset)))
                {
                    queue.Add((directory, file));
                }
            }
        }

        foreach ((ListedDirectory directory, ListedFile file) in
            queue.OrderBy(static item => item.File.State.Size).ThenBy(static item => item.File.Path, SitePath.ByBytes))
        {
            if (file.Asset is null || CanImprove(file.Asset))
            {
                Load(directory, file);
            }
        }
    }

    /// <summary>Whether it was loaded when memory or descriptors were short.</summary>
    private bool IsDegraded(Asset asset) =>
        asset.Strategy != BodyStrategy.InMemory && (asset.Size <= options.CacheFileBytesMax || asset.Descriptor == Asset.NoDescriptor);

    private bool CanImprove(Asset asset) =>
        (asset.Size <= options.CacheFileBytesMax && budget.HasMemoryFor(asset.Size))
        || (asset.Descriptor == Asset.NoDescriptor && budget.HasDescriptor);

    private void Load(ListedDirectory directory, ListedFile file)
    {
        if (file.IsCarriedOver)
        {
            budget.Carry(file.Asset!, -1);
            file.IsCarriedOver = false;
        }

        file.Asset = loader.Load(directory, file.Path);
        if (file.Asset is not null)
        {
            _loaded.Add(file.Asset);
        }
    }

    /// <summary>
    /// Gives the originals of a directory their coded siblings. A carried-over asset whose siblings changed is loaded again, because its
    /// fields are cached and include Vary.
    /// </summary>
    /// <remarks>
    /// From the last name to the first, as a coded file sorts after its original: a coded file that is an original itself (x.gz beside
    /// x.gz.br) has its final asset before another one shows it. An asset that shows another is only part of snapshots that contain the
    /// shown one.
    /// </remarks>
    private void PairSiblings(ListedDirectory directory)
    {
        ILookup<ListedFile, (ContentCoding Coding, ListedFile Coded)> named = PrecompressedSiblings.NamedIn(directory);
        for (int i = directory.Files.Count - 1; i >= 0; i--)
        {
            ListedFile file = directory.Files[i];
            if (file is { IsCarriedOver: true, Asset: Asset known } && !PrecompressedSiblings.AreThoseOf(known, named[file]))
            {
                Load(directory, file);
            }

            if (file is { IsCarriedOver: false, Asset: Asset asset })
            {
                bool mayBeCompressed = options.Compression && asset is { Coding: ContentCoding.Identity, ContentType.IsCompressible: true }
                    && asset.Size >= BodyCoder.BytesMin;
                asset.MayUseDictionary = mayBeCompressed && DictionaryFamily.MayUse(options, asset);
                asset.SetSiblings(
                    PrecompressedSiblings.Of(asset, named[file], directory.Previous?.Find(file.Path.Name)), mayBeCompressed);
            }
        }
    }
}
