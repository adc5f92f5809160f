using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// A site at one moment: its paths and assets, immutable, read by any thread that holds a lease. A lease is taken once per adopter (a
/// reactor), not per request. When the last is released, memory and descriptors are freed on the thread pool:
/// closing ten thousand files would stall a reactor for milliseconds.
/// </summary>
internal sealed class CatalogSnapshot : IThreadPoolWorkItem
{
    private readonly PathTable _paths;

    /// <summary>By place in the path table: a file's asset, a directory's index, or null.</summary>
    private readonly Asset?[] _assets;
    private readonly SnapshotResources _resources;
    private readonly TaskCompletionSource _freed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>One from the start: the builder's, which the catalogue takes over.</summary>
    private int _leases = 1;

    internal CatalogSnapshot(PathTable paths, Asset?[] assets, SnapshotResources resources, SkippedEntries skipped)
    {
        _paths = paths;
        _assets = assets;
        _resources = resources;
        Skipped = skipped.Kept;
        SkippedCount = skipped.Count;
        DirectoryCount = Enumerable.Range(0, paths.Count).Count(index => paths.KindAt(index) == PathKind.Directory);
        AssetCount = assets.Where((asset, index) => asset?.PathIndex == index).Count();
        BakedBytes = resources.BakedBytes;
        DescriptorCount = resources.DescriptorCount;
    }

    public int AssetCount { get; }

    public int DirectoryCount { get; }

    /// <summary>The native memory of its bodies.</summary>
    public long BakedBytes { get; }

    /// <summary>The descriptors it holds for assets, besides the one of its root.</summary>
    public int DescriptorCount { get; }

    /// <summary>What of the root is not served and why: the first hundred of <see cref="SkippedCount"/>.</summary>
    public IReadOnlyList<SkippedEntry> Skipped { get; }

    public int SkippedCount { get; }

    /// <summary>Completes when the last lease is released and everything native is freed.</summary>
    public Task Freed => _freed.Task;

    /// <summary>Finds what a decoded URL path names. Case and bytes must match; "/dir/" is the directory's index.</summary>
    public PathMatch TryFind(ReadOnlySpan<byte> decodedPath, out Asset? asset)
    {
        AssertLeased();
        asset = null;
        if (decodedPath.IsEmpty || decodedPath[0] != '/')
        {
            return PathMatch.None;
        }

        bool endsWithSlash = decodedPath[^1] == '/';
        int index = _paths.Find(endsWithSlash ? decodedPath[..^1] : decodedPath);
        if (index == PathTable.Missing)
        {
            return PathMatch.None;
        }

        bool isDirectory = _paths.KindAt(index) == PathKind.Directory;
        if (endsWithSlash != isDirectory)
        {
            return isDirectory ? PathMatch.DirectoryWithoutSlash : PathMatch.None;
        }

        asset = _assets[index];
        if (asset is not null)
        {
            return PathMatch.Asset;
        }

        return isDirectory ? PathMatch.DirectoryWithoutIndex : PathMatch.None;
    }

    /// <summary>The path of an asset's file from the root, with a leading '/'.</summary>
    public ReadOnlySpan<byte> PathOf(Asset asset) => _paths.PathAt(asset.PathIndex);

    /// <summary>
    /// Opens the file of an asset that holds no descriptor: a descriptor the caller closes, or -errno. The file may have been
    /// replaced since the snapshot: head and body must both come from <paramref name="state"/>, not from the asset.
    /// -ENOENT also stands for what is no regular file any more.
    /// </summary>
    public int OpenOnDemand(Asset asset, out FileState state)
    {
        AssertLeased();
        int fd = _resources.Root.OpenFile(_paths.RelativePathZAt(asset.PathIndex));
        if (fd < 0)
        {
            state = default;
            return fd;
        }

        int result = FileState.Read(fd, out state);
        if (result == 0 && state.Type == FileType.Regular)
        {
            return fd;
        }

        _ = FileCalls.Close(fd);
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

    void IThreadPoolWorkItem.Execute()
    {
        _resources.Dispose();
        _freed.SetResult();
    }

    [Conditional("DEBUG")]
    private void AssertLeased() => Debug.Assert(Volatile.Read(ref _leases) > 0, "a snapshot is used under a lease");
}
