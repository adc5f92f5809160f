using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Frees what swaps dropped. An asset is part of consecutive snapshots, from the one it was loaded for to the one it was last in: so what
/// a released snapshot was the last to hold passes to the next older one that lives, if that has it, and is freed otherwise. No asset
/// needs a counter, and a snapshot that is held for long keeps what it shows itself and nothing that came after it.
/// </summary>
internal sealed class RetirementOrder(AssetHoldings holdings)
{
    private readonly Lock _gate = new();

    /// <summary>
    /// One frees after the other: whoever is told that all is freed must not find an older one at it still. Never held by a reactor.
    /// </summary>
    private readonly Lock _freeing = new();

    /// <summary>The snapshots that are not released yet, from the oldest: a few, as each but the last has somebody slow.</summary>
    private readonly List<CatalogSnapshot> _living = [];

    /// <summary>Raised when what a released snapshot alone held is given back, on the thread that did it.</summary>
    public event Action? Freed;

    /// <summary>How many snapshots live.</summary>
    public int Living
    {
        get
        {
            lock (_gate)
            {
                return _living.Count;
            }
        }
    }

    /// <summary>A snapshot begins to live; it is newer than all before it.</summary>
    public void Enter(CatalogSnapshot snapshot)
    {
        lock (_gate)
        {
            _living.Add(snapshot);
        }
    }

    /// <summary>Nobody holds a lease on it any more.</summary>
    public void OnReleased(CatalogSnapshot snapshot)
    {
        lock (_freeing)
        {
            TakeOut(snapshot).Free(holdings);
        }

        Freed?.Invoke();
    }

    private Retirement TakeOut(CatalogSnapshot snapshot)
    {
        lock (_gate)
        {
            int place = _living.IndexOf(snapshot);
            _living.RemoveAt(place);
            return place == 0 ? snapshot.Retired : snapshot.Retired.PassTo(_living[place - 1]);
        }
    }
}
