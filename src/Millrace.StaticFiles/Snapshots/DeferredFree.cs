using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// The assets and roots that no snapshot after a certain one contains. They are freed when that snapshot is released, except those that an
/// older live snapshot contains. Guarded by the catalog until it releases that snapshot, then by <see cref="DeferredFreeQueue"/>.
/// </summary>
internal sealed class DeferredFree
{
    private readonly List<Asset> _assets = [];
    private readonly List<RootDirectory> _roots = [];
    private readonly List<TaskCompletionSource> _waiting = [];

    public void Add(IReadOnlyCollection<Asset> assets, RootDirectory? root)
    {
        _assets.AddRange(assets);
        if (root is not null)
        {
            _roots.Add(root);
        }
    }

    /// <summary>Completes <paramref name="freed"/> when this is freed, also after it was passed on.</summary>
    public void CompleteWhenFreed(TaskCompletionSource freed) => _waiting.Add(freed);

    /// <summary>Passes what an older snapshot contains on to it, along with the tasks that wait. Returns the remaining resources.</summary>
    public DeferredFree PassTo(CatalogSnapshot older)
    {
        var remaining = new DeferredFree();
        foreach (Asset asset in _assets)
        {
            (older.Contains(asset) ? older.Retired : remaining)._assets.Add(asset);
        }

        foreach (RootDirectory root in _roots)
        {
            (older.Content.Root == root ? older.Retired : remaining)._roots.Add(root);
        }

        older.Retired._waiting.AddRange(_waiting);
        return remaining;
    }

    public void Free(AssetResources resources)
    {
        foreach (Asset asset in _assets)
        {
            resources.Free(asset);
        }

        foreach (RootDirectory root in _roots)
        {
            root.Dispose();
        }

        foreach (TaskCompletionSource freed in _waiting)
        {
            freed.SetResult();
        }
    }
}
