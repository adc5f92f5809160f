using System.Diagnostics;
using System.Text;
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
    private readonly DeferredFreeQueue _freeQueue;
    private readonly TaskCompletionSource _freed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Starts at one: the lease of <see cref="Requests"/>.</summary>
    private int _leases = 1;

    internal CatalogSnapshot(RootDirectory root, DirectoryTable table, SiteRules rules, DeferredFreeQueue freeQueue)
    {
        Root = root;
        Table = table;
        Rules = rules;
        _freeQueue = freeQueue;
        Requests = new RequestCounter(this);
        Retired.CompleteWhenFreed(_freed);
    }

    public RootDirectory Root { get; }

    public DirectoryTable Table { get; }

    public SiteRules Rules { get; }

    /// <summary>The states of the rule files; null if they are not used.</summary>
    public required RuleFileStates? RuleFiles { get; init; }

    public required SnapshotTotals Totals { get; init; }

    public int AssetCount => Totals.Assets;

    public int DirectoryCount => Totals.Directories;

    /// <summary>The entries that are not served, and why: up to a hundred of <see cref="SkippedCount"/>.</summary>
    public required IReadOnlyList<SkippedEntry> Skipped { get; init; }

    public int SkippedCount => Totals.Skipped;

    /// <summary>The file names that serve as a directory's index; the first that exists is used.</summary>
    public required IReadOnlyList<byte[]> IndexNames { get; init; }

    /// <summary>
    /// The directories to <see cref="AssetCatalog.Refresh"/> again when their files have settled: they were read so soon after their last
    /// change that their tags are weak.
    /// </summary>
    public required IReadOnlyList<DirectoryChange> Unsettled { get; init; }

    /// <summary>Files that may not be served even if an asset's name leads to them by now.</summary>
    public required PrivateFiles? PrivateFiles { get; init; }

    /// <summary>Completes when the last lease on this and all older snapshots is released and their own assets are freed.</summary>
    public Task Freed => _freed.Task;

    /// <summary>The requests of any thread. Its lease keeps the snapshot alive for as long as it is the catalog's current one.</summary>
    internal RequestCounter Requests { get; }

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
        SiteDirectory? holder = Table.Resolve(decodedPath[..slash]);
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

        directory = Table.Resolve(decodedPath);
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
            if (Table.Find(target.Bytes) is SiteDirectory subdirectory)
            {
                entries.Add(new ListingEntry(path.NameMemory, IsDirectory: true, Size: 0, subdirectory.State.ModifiedAtNs));
            }
        }

        foreach (Asset asset in directory.Assets)
        {
            entries.Add(new ListingEntry(asset.SitePath.NameMemory, IsDirectory: false, asset.Size, asset.ModifiedAtNs)
            {
                Type = asset.ContentType,
            });
        }

        return [.. entries];
    }

    /// <summary>
    /// The files left for background compression: type and size promise a gain, they were not processed yet, and their siblings are
    /// decided. <see cref="Asset.AcceptsVariant"/> says which codings they still need.
    /// </summary>
    public IEnumerable<Asset> AssetsToCompress() =>
        AllAssets().Where(static asset => asset is { MayBeCompressed: true, IsBackgroundCompressed: false, HasUndecidedSiblings: false });

    /// <summary>The files that may be sent with a dictionary.</summary>
    public IEnumerable<Asset> AssetsForDictionaries() =>
        AllAssets().Where(static asset => asset is { MayUseDictionary: true, IsUnreadable: false });

    /// <summary>The coded files beside others, each with its original.</summary>
    public IEnumerable<(Asset Original, Sibling Sibling)> AllSiblings() =>
        from asset in AllAssets()
        from sibling in asset.Siblings
        select (asset, sibling);

    /// <summary>
    /// Opens the file of an asset without a descriptor: a descriptor that the caller closes, or -errno. The file may have been replaced
    /// since the snapshot: take head and body both from <paramref name="state"/>, not from the asset. -ENOENT also stands for a file that
    /// is no longer regular, or that is private to the server.
    /// </summary>
    public int OpenOnDemand(Asset asset, out FileState state, AssetFiles? files = null)
    {
        AssertLeased();
        files ??= AssetFiles.System;
        int fd = files.Open(Root, asset.SitePath.RelativeZ);
        if (fd < 0)
        {
            state = default;
            return fd;
        }

        int result = files.Stat(fd, out state);
        if (result == 0 && state.Type == FileType.Regular && PrivateFiles?.Contains(state) != true)
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
        return sitePath.IsRoot || Table.Find(sitePath.Bytes) is { IsComplete: true }
            || Table.Find(sitePath.Parent)?.Find(sitePath.Name) is not null;
    }

    /// <summary>Whether this snapshot contains an asset of a file, or the file's asset that a variant was made of.</summary>
    internal bool Contains(Asset asset) =>
        Table.Find(asset.SitePath.Parent)?.Find(asset.SitePath.Name) == (asset.Original ?? asset);

    /// <summary>A snapshot of the same content.</summary>
    internal CatalogSnapshot Copy() => new(Root, Table, Rules, _freeQueue)
    {
        RuleFiles = RuleFiles,
        Totals = Totals,
        Skipped = Skipped,
        IndexNames = IndexNames,
        Unsettled = Unsettled,
        PrivateFiles = PrivateFiles,
    };

    void IThreadPoolWorkItem.Execute() => _freeQueue.OnReleased(this);

    private IEnumerable<Asset> AllAssets()
    {
        for (int i = 0; i < Table.Directories.Length; i++)
        {
            SiteDirectory directory = Table.Directories[i];
            for (int j = 0; j < directory.Assets.Length; j++)
            {
                yield return directory.Assets[j];
            }
        }
    }

    [Conditional("DEBUG")]
    public void AssertLeased() => Debug.Assert(Volatile.Read(ref _leases) > 0, "a snapshot is used under a lease");
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
