using System.Diagnostics;
using System.Text;
using Millrace.Http;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// A site at one moment: its directories, assets and rules, readable by any thread that holds a lease. A reactor's binding takes one lease
/// per snapshot; requests on any thread are counted by <see cref="Requests"/>, which holds one for all of them. After the last release,
/// assets that no other live snapshot contains are freed on the thread pool, because closing ten thousand files would stall a reactor for
/// milliseconds.
/// </summary>
internal sealed class CatalogSnapshot : IThreadPoolWorkItem
{
    private readonly DirectoryTable _table;
    private readonly DeferredFreeQueue _freeQueue;
    private readonly TaskCompletionSource _freed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Starts at one: the lease of <see cref="Requests"/>.</summary>
    private int _leases = 1;

    internal CatalogSnapshot(SnapshotContent content, DeferredFreeQueue freeQueue)
    {
        Content = content;
        _table = content.Table;
        _freeQueue = freeQueue;
        Requests = new RequestCounter(this);
        Retired.CompleteWhenFreed(_freed);
    }

    public SiteRules Rules => Content.Rules;

    public int AssetCount => Content.Totals.Assets;

    public int DirectoryCount => Content.Totals.Directories;

    /// <summary>The native memory of its bodies, including those shared with other snapshots, without published variants.</summary>
    public long InMemoryBytes => Content.Totals.InMemoryBytes;

    /// <summary>The entries that are not served, and why: up to a hundred of <see cref="SkippedCount"/>.</summary>
    public IReadOnlyList<SkippedEntry> Skipped => Content.Skipped.Entries;

    public int SkippedCount => Content.Totals.Skipped;

    /// <summary>The directories to <see cref="AssetCatalog.Refresh"/> again when their files have settled.</summary>
    public IReadOnlyList<DirectoryChange> Unsettled => Content.Unsettled;

    /// <summary>Completes when the last lease on this and all older snapshots is released and their own assets are freed.</summary>
    public Task Freed => _freed.Task;

    /// <summary>The requests of any thread. Its lease keeps the snapshot alive for as long as it is the catalog's current one.</summary>
    internal RequestCounter Requests { get; }

    /// <summary>What the next snapshot is built from.</summary>
    internal SnapshotContent Content { get; }

    /// <summary>What this snapshot was the last to contain, and what newer ones passed on to it.</summary>
    internal DeferredFree Retired { get; } = new();

    /// <summary>Finds what a decoded URL path names. Case and bytes must match; "/dir/" finds the directory's index.</summary>
    /// <param name="decodedPath">Percent-decoded once, without dot segments.</param>
    /// <param name="asset">The file, or the index of a directory named with its slash.</param>
    /// <param name="directory">The directory named, with or without its slash, or the one that contains the file.</param>
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
        SiteDirectory? holder = _table.Resolve(decodedPath[..slash]);
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

        directory = _table.Resolve(decodedPath);
        return directory is not null ? PathMatch.DirectoryWithoutSlash : PathMatch.None;
    }

    /// <summary>The visible entries of a directory of this snapshot: directories first, then files, each by name.</summary>
    public ListingEntry[] List(SiteDirectory directory)
    {
        AssertLeased();
        IEnumerable<(SitePath Path, SitePath Target)> subdirectories = directory.Subdirectories.Select(static path => (path, path))
            .Concat(directory.Aliases.Select(static alias => (alias.Path, alias.Target)))
            .OrderBy(static entry => entry.Item1, SitePath.ByBytes);
        var entries = new List<ListingEntry>(directory.Subdirectories.Count + directory.Aliases.Count + directory.Assets.Length);
        foreach ((SitePath path, SitePath target) in subdirectories)
        {
            if (_table.Find(target.Bytes) is SiteDirectory subdirectory)
            {
                entries.Add(new ListingEntry(path.NameMemory, IsDirectory: true, Size: 0, subdirectory.State.ModifiedAtNs));
            }
        }

        foreach (Asset asset in directory.Assets)
        {
            entries.Add(new ListingEntry(asset.SitePath.NameMemory, IsDirectory: false, asset.Size, asset.ModifiedAtNs));
        }

        return [.. entries];
    }

    /// <summary>
    /// Compares what is known of a path with the disk, for sites that are not watched. Makes system calls: not for every request of a
    /// watched site.
    /// </summary>
    /// <param name="decodedPath">As in <see cref="TryFind"/>, found or not.</param>
    /// <param name="changed">The directory to refresh by its path, if the result asks for it.</param>
    public Freshness Check(ReadOnlySpan<byte> decodedPath, out SiteDirectory? changed)
    {
        AssertLeased();
        return FreshnessCheck.Of(decodedPath, Content, out changed);
    }

    /// <summary>
    /// The files left for background compression: type and size promise a gain, and they were not processed yet.
    /// <see cref="Asset.Codings"/> has the codings that siblings already provide.
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
    /// Opens the file of an asset without a descriptor: a descriptor that the caller closes, or -errno. The file may have been replaced
    /// since the snapshot: take head and body both from <paramref name="state"/>, not from the asset. -ENOENT also stands for a file that
    /// is no longer regular, or that is private to the server.
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

        int result = files.Stat(fd, out state);
        if (result == 0 && state.Type == FileType.Regular && Content.PrivateFiles?.Contains(state) != true)
        {
            return fd;
        }

        files.Close(fd);
        return result < 0 ? result : -Errno.ENOENT;
    }

    /// <summary>Takes a lease unless the last one was already released.</summary>
    public bool TryAcquire()
    {
        int leases = Volatile.Read(ref _leases);
        while (leases > 0)
        {
            int actual = Interlocked.CompareExchange(ref _leases, leases + 1, leases);
            if (actual == leases)
            {
                return true;
            }

            leases = actual;
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

    /// <summary>Whether a path, as in <see cref="SkippedEntry"/>, is a file or directory of this snapshot that could be read.</summary>
    internal bool HasReadable(string path)
    {
        var sitePath = SitePath.Of(Encoding.UTF8.GetBytes(path));
        return sitePath.IsRoot || _table.Find(sitePath.Bytes) is { IsComplete: true }
            || _table.Find(sitePath.Parent)?.Find(sitePath.Name) is not null;
    }

    /// <summary>Whether this snapshot contains an asset of a file.</summary>
    internal bool Contains(Asset asset) => _table.Find(asset.SitePath.Parent)?.Find(asset.SitePath.Name) == asset;

    void IThreadPoolWorkItem.Execute() => _freeQueue.OnReleased(this);

    [Conditional("DEBUG")]
    private void AssertLeased() => Debug.Assert(Volatile.Read(ref _leases) > 0, "a snapshot is used under a lease");
}

/// <summary>What a URL path names on this site.</summary>
internal enum PathMatch
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>A file, or a directory with its slash and an index.</summary>
    Asset,

    /// <summary>A directory requested without its slash: relative links of its index would resolve one level too high.</summary>
    DirectoryWithoutSlash,

    /// <summary>A directory with its slash and no index.</summary>
    DirectoryWithoutIndex,
}
