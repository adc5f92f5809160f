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
