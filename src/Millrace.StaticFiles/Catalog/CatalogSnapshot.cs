using System.Diagnostics;
using Millrace.Http;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// A site at one moment: its directories, their assets, its rules; read by any thread that holds a lease. A lease is taken once per
/// adopter (a reactor), not per request. What no other living snapshot holds is freed when it is released, on the thread pool: closing ten
/// thousand files would stall a reactor for milliseconds.
/// </summary>
internal sealed class CatalogSnapshot : IThreadPoolWorkItem
{
    private readonly DirectoryTable _table;
    private readonly RetirementOrder _order;
    private readonly TaskCompletionSource _freed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>One from the start: the builder's, which the catalogue takes over.</summary>
    private int _leases = 1;

    internal CatalogSnapshot(SnapshotContent content, RetirementOrder order)
    {
        Content = content;
        _table = content.Table;
        _order = order;
        Retired.Tell(_freed);
    }

    public SiteRules Rules => Content.Rules;

    public int AssetCount => Content.Totals.Assets;

    public int DirectoryCount => Content.Totals.Directories;

    /// <summary>The native memory of its bodies, those it shares with other snapshots included, published variants not.</summary>
    public long BakedBytes => Content.Totals.BakedBytes;

    /// <summary>The descriptors it holds for assets, those it shares included, besides the one of its root.</summary>
    public int DescriptorCount => Content.Totals.Descriptors;

    /// <summary>What of the root is not served and why: a hundred of <see cref="SkippedCount"/>.</summary>
    public IReadOnlyList<SkippedEntry> Skipped => Content.Skipped.Entries;

    public int SkippedCount => Content.Totals.Skipped;

    /// <summary>The directories to <see cref="AssetCatalog.Refresh"/> once more when their files have settled.</summary>
    public IReadOnlyList<DirectoryChange> Unsettled => Content.Unsettled;

    /// <summary>Completes when the last lease is released, on this and all older ones, and what they alone held is freed.</summary>
    public Task Freed => _freed.Task;

    /// <summary>What the next snapshot is made of.</summary>
    internal SnapshotContent Content { get; }

    /// <summary>What this snapshot was the last to hold, and what of newer ones it holds too.</summary>
    internal Retirement Retired { get; } = new();

    /// <summary>Finds what a decoded URL path names. Case and bytes must match; "/dir/" is the directory's index.</summary>
    /// <param name="decodedPath">Percent-decoded once, without dot segments.</param>
    /// <param name="asset">The file, or the index of the directory that was named with its slash.</param>
    /// <param name="directory">The directory that was named, with or without its slash, or the one the file is in.</param>
    public PathMatch TryFind(ReadOnlySpan<byte> decodedPath, out Asset? asset, out SiteDirectory? directory)
    {
        AssertLeased();
        asset = null;
        directory = null;
        if (decodedPath.IsEmpty || decodedPath[0] != '/')
        {
            return PathMatch.None;
        }

        int slash = decodedPath.LastIndexOf((byte)'/');
        SiteDirectory? holder = _table.Find(decodedPath[..slash]);
        if (holder is null)
        {
            return PathMatch.None;
        }

        ReadOnlySpan<byte> name = decodedPath[(slash + 1)..];
        asset = name.IsEmpty ? holder.Index : holder.Find(name);
        if (asset is not null || name.IsEmpty)
        {
            directory = holder;
            return asset is not null ? PathMatch.Asset : PathMatch.DirectoryWithoutIndex;
        }

        directory = _table.Find(decodedPath);
        return directory is not null ? PathMatch.DirectoryWithoutSlash : PathMatch.None;
    }

    /// <summary>The visible entries of a directory of this snapshot.</summary>
    public DirectoryListing List(SiteDirectory directory)
    {
        AssertLeased();
        return new DirectoryListing(directory, _table);
    }

    /// <summary>
    /// Compares what is known of a path with the disk, where nothing tells of changes. System calls: not for every request of a site
    /// that is watched.
    /// </summary>
    /// <param name="decodedPath">As in <see cref="TryFind"/>, found or not.</param>
    /// <param name="changed">The directory to refresh, by its path, if that is the outcome.</param>
    public Freshness Check(ReadOnlySpan<byte> decodedPath, out SiteDirectory? changed)
    {
        AssertLeased();
        return FreshnessCheck.Of(decodedPath, Content, out changed);
    }

    /// <summary>
    /// What background compression can work on: files whose type and size promise a gain and that it has not had its say on.
    /// <see cref="Asset.Codings"/> tells which ones are there already, from siblings.
    /// </summary>
    public IEnumerable<Asset> AssetsToCompress()
    {
        const CodingSet All = CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli | CodingSet.Zstd;
        for (int i = 0; i < _table.Directories.Length; i++)
        {
            SiteDirectory directory = _table.Directories[i];
            for (int j = 0; j < directory.Assets.Length; j++)
            {
                Asset asset = directory.Assets[j];
                if (asset is { MayBeCompressed: true, IsPublished: false } && asset.Codings != All)
                {
                    yield return asset;
                }
            }
        }
    }

    /// <summary>
    /// Opens the file of an asset that holds no descriptor: a descriptor the caller closes, or -errno. The file may have been
    /// replaced since the snapshot: head and body must both come from <paramref name="state"/>, not from the asset.
    /// -ENOENT also stands for what is no regular file any more.
    /// </summary>
    public int OpenOnDemand(Asset asset, out FileState state, AssetFiles? files = null)
    {
        AssertLeased();
        files ??= AssetFiles.System;
        int fd = files.Open(Content.Root, asset.SitePath.RelativeZ);
        if (fd < 0)
        {
            state = default;
            return fd;
        }

        int result = files.Look(fd, out state);
        if (result == 0 && state.Type == FileType.Regular)
        {
            return fd;
        }

        files.Close(fd);
        return result < 0 ? result : -Errno.ENOENT;
    }

    /// <summary>Takes a lease, unless the last one is already gone.</summary>
    public bool TryAcquire()
    {
        int leases = Volatile.Read(ref _leases);
        while (leases > 0)
        {
            int seen = Interlocked.CompareExchange(ref _leases, leases + 1, leases);
            if (seen == leases)
            {
                return true;
            }

            leases = seen;
        }

        return false;
    }

    /// <summary>Gives a lease back, from any thread.</summary>
    public void Release()
    {
        int leases = Interlocked.Decrement(ref _leases);
        Debug.Assert(leases >= 0, "each lease is released once");
        if (leases == 0)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Whether an asset of a file is part of it.</summary>
    internal bool Holds(Asset asset) => _table.Find(asset.SitePath.Parent)?.Find(asset.SitePath.Name) == asset;

    void IThreadPoolWorkItem.Execute() => _order.OnReleased(this);

    [Conditional("DEBUG")]
    private void AssertLeased() => Debug.Assert(Volatile.Read(ref _leases) > 0, "a snapshot is used under a lease");
}
