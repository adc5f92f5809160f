using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Frees the assets that swaps dropped. An asset is part of consecutive snapshots. So when a snapshot is released, what it was the last to
/// contain passes to the next older live snapshot if that contains it too, and is freed otherwise. No asset needs a counter, and a snapshot
/// that is held long keeps only its own assets alive. Any thread.
/// </summary>
internal sealed class DeferredFreeQueue(AssetResources resources)
{
    private readonly Lock _lock = new();

    /// <summary>
    /// Serializes freeing, so that <see cref="CatalogSnapshot.Freed"/> completes only after older snapshots are done. No reactor takes it.
    /// </summary>
    private readonly Lock _freeLock = new();

    /// <summary>The snapshots not released yet, oldest first: few, as each but the last is held by a slow request.</summary>
    private readonly List<CatalogSnapshot> _live = [];

    /// <summary>Raised when the resources of a released snapshot were freed, on the thread that freed them.</summary>
    public event Action? Freed;

    /// <summary>The number of snapshots that are not released.</summary>
    public int LiveCount
    {
        get
        {
            lock (_lock)
            {
                return _live.Count;
            }
        }
    }

    /// <summary>Adds a snapshot, newer than all before it.</summary>
    public void Add(CatalogSnapshot snapshot)
    {
        lock (_lock)
        {
            _live.Add(snapshot);
        }
    }

    /// <summary>Called when the last lease on a snapshot was released.</summary>
    public void OnReleased(CatalogSnapshot snapshot)
    {
        lock (_freeLock)
        {
            Remove(snapshot).Free(resources);
        }

        Freed?.Invoke();
    }

    private DeferredFree Remove(CatalogSnapshot snapshot)
    {
        lock (_lock)
        {
            int index = _live.IndexOf(snapshot);
            _live.RemoveAt(index);
            return index == 0 ? snapshot.Retired : snapshot.Retired.PassTo(_live[index - 1]);
        }
    }
}

/// <summary>
/// The assets and roots that no snapshot after a certain one contains, and the variants that were replaced while it was current. They are
/// freed when that snapshot is released, except those that an older live snapshot contains. Guarded by the catalog until it releases that
/// snapshot, then by <see cref="DeferredFreeQueue"/>.
/// </summary>
internal sealed class DeferredFree
{
    private readonly List<Asset> _assets = [];
    private readonly List<RootDirectory> _roots = [];
    private readonly List<TaskCompletionSource> _waiting = [];

    public bool IsEmpty => _assets.Count == 0 && _roots.Count == 0;

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
            (older.Root == root ? older.Retired : remaining)._roots.Add(root);
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
