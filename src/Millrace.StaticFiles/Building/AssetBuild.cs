using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Compression;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Gives the files of listed directories their assets: those of the snapshot before where nothing changed, and new ones. What it loads is
/// its own until <see cref="Commit"/>; without that it is freed.
/// </summary>
internal sealed class AssetBuild(
    SiteOptions options, AssetLoader loader, SiblingProof proof, AssetHoldings holdings, SnapshotShares shares) : IDisposable
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
            Pair(directory);
        }
    }

    /// <summary>The assets are a snapshot's now.</summary>
    public void Commit() => _loaded.Clear();

    public void Dispose()
    {
        foreach (Asset asset in _loaded)
        {
            holdings.Free(asset);
        }
    }

    private void CarryOver(ListedDirectory directory)
    {
        foreach (ListedFile file in directory.Files)
        {
            if ((file.Kept ?? directory.Previous?.Find(file.Path.Name)) is { IsSettled: true } known && known.State == file.State)
            {
                file.Asset = known;
                file.IsCarriedOver = true;
                shares.Carry(known);
            }
        }
    }

    /// <summary>
    /// Smaller files first, for memory, descriptors and tags alike. What a request saves is a read, or an open and a close, the same
    /// for every file; what it costs is the file's size. So a budget saves most on the smallest files, where these calls are also the
    /// largest part of an answer. Equal sizes go by path, so that replicas of a site decide alike.
    /// </summary>
    private void Load(IReadOnlyCollection<ListedDirectory> directories)
    {
        var queue = new List<(ListedDirectory Directory, ListedFile File)>();
        foreach (ListedDirectory directory in directories)
        {
            foreach (ListedFile file in directory.Files)
            {
                // Room is only taken from here on: what cannot be better now is not worth its place in the order.
                if (file.Asset is null || (IsPoor(file.Asset) && CanBeBetter(file.Asset)))
                {
                    queue.Add((directory, file));
                }
            }
        }

        queue.Sort((left, right) =>
        {
            int bySize = left.File.State.Size.CompareTo(right.File.State.Size);
            return bySize != 0 ? bySize : left.File.Path.Bytes.SequenceCompareTo(right.File.Path.Bytes);
        });
        foreach ((ListedDirectory directory, ListedFile file) in queue)
        {
            if (file.Asset is null || CanBeBetter(file.Asset))
            {
                Load(directory, file);
            }
        }
    }

    /// <summary>Whether it was loaded when there was not enough memory, or no descriptor, for it.</summary>
    private bool IsPoor(Asset asset) =>
        asset.Strategy != BodyStrategy.Baked && (asset.Size <= options.BakedBytesMax || asset.Descriptor == Asset.NoDescriptor);

    private bool CanBeBetter(Asset asset) =>
        (asset.Size <= options.BakedBytesMax && shares.HasMemoryFor(asset.Size))
        || (asset.Descriptor == Asset.NoDescriptor && shares.HasDescriptor);

    private void Load(ListedDirectory directory, ListedFile file)
    {
        if (file.IsCarriedOver)
        {
            shares.Carry(file.Asset!, -1);
            file.IsCarriedOver = false;
        }

        file.Asset = loader.Load(directory, file.Path);
        if (file.Asset is not null)
        {
            _loaded.Add(file.Asset);
        }
    }

    /// <summary>
    /// Gives the originals of a directory their coded siblings. An asset of before whose siblings are others now is loaded again: its
    /// fields are cached, and whether it varies is one of them.
    /// </summary>
    /// <remarks>
    /// From the last name to the first, as a coded file follows its original: one that is an original itself (x.gz beside x.gz.br) has
    /// its final asset before another shows it. Who shows an asset is never part of a snapshot that does not hold it.
    /// </remarks>
    private void Pair(ListedDirectory directory)
    {
        ILookup<ListedFile, (ContentCoding Coding, ListedFile Coded)> named = Siblings.NamedIn(directory);
        for (int i = directory.Files.Count - 1; i >= 0; i--)
        {
            ListedFile file = directory.Files[i];
            if (file is { IsCarriedOver: true, Asset: Asset known } && !Siblings.AreShownBy(known, named[file]))
            {
                Load(directory, file);
            }

            if (file is { IsCarriedOver: false, Asset: Asset asset })
            {
                if (directory.Previous?.Find(file.Path.Name) is Asset before)
                {
                    asset.ForeignSiblings = Siblings.ForeignTo(asset, before, named[file], proof);
                }

                Begin(asset, named[file]);
            }
        }
    }

    private void Begin(Asset asset, IEnumerable<(ContentCoding Coding, ListedFile Coded)> named)
    {
        Asset[] variants = [.. Siblings.Of(asset, named).Select(sibling => sibling.Coded.AsSiblingOf(asset, sibling.Coding))];
        bool mayBeCompressed = options.Compression && asset.ContentType.IsCompressible && asset.Size >= BodyCoder.BytesMin;
        asset.BeginWith(variants.Length > 0 ? new VariantSet(variants) : null, mayBeCompressed);
    }
}
