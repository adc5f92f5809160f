using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Frees what swaps dropped. An asset can be reached from the snapshot it was last part of and from older ones, never from a newer:
/// so it is freed when that snapshot and all before it are released, and no asset needs a counter.
/// </summary>
internal sealed class RetirementOrder(AssetHoldings holdings)
{
    private readonly Lock _gate = new();

    /// <summary>The snapshots that are not freed yet, from the oldest.</summary>
    private readonly Queue<CatalogSnapshot> _living = new();

    /// <summary>A snapshot begins to live; it is newer than all before it.</summary>
    public void Enter(CatalogSnapshot snapshot)
    {
        lock (_gate)
        {
            _living.Enqueue(snapshot);
        }
    }

    /// <summary>Nobody holds a lease on it any more. Frees what only it and older ones could reach, once they are released too.</summary>
    public void OnReleased(CatalogSnapshot snapshot)
    {
        var ended = new List<CatalogSnapshot>();
        lock (_gate)
        {
            snapshot.IsReleased = true;
            while (_living.TryPeek(out CatalogSnapshot? oldest) && oldest.IsReleased)
            {
                ended.Add(_living.Dequeue());
            }
        }

        foreach (CatalogSnapshot oldest in ended)
        {
            oldest.FreeRetired(holdings);
        }
    }
}
