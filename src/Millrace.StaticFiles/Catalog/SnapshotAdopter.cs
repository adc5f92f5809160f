namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Keeps one reactor on the latest snapshot. Belongs to that reactor's thread. Costs a read of a shared reference when it is asked, and
/// an interlocked count per reload: no request touches memory another core writes.
/// </summary>
internal sealed class SnapshotAdopter(AssetCatalog catalog) : IDisposable
{
    private Adoption _current = new(catalog.Adopt());

    /// <summary>What requests that begin now use. It stays the same until the next <see cref="AdoptLatest"/>.</summary>
    public Adoption Current => _current;

    /// <summary>Between two requests: moves on to the latest snapshot. The one before is released when its last request ends.</summary>
    public void AdoptLatest()
    {
        if (ReferenceEquals(catalog.Current, _current.Snapshot))
        {
            return;
        }

        Adoption previous = _current;
        _current = new Adoption(catalog.Adopt());
        previous.Supersede();
    }

    /// <summary>The reactor stops; requests still in flight keep their snapshot until they end.</summary>
    public void Dispose() => _current.Supersede();
}
