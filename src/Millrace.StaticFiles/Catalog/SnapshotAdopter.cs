namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Keeps one reactor on the latest snapshot. Belongs to that reactor's thread. Costs a read of a shared reference when it is asked, and
/// an interlocked count per reload: no request touches memory another core writes.
/// </summary>
/// <param name="catalog">Whose snapshots.</param>
/// <param name="files">Through which their files are opened; the kernel's where none are given.</param>
internal sealed class SnapshotAdopter(AssetCatalog catalog, AssetFiles? files = null) : IDisposable
{
    private readonly AssetFiles _files = files ?? AssetFiles.System;
    private Adoption _current = new(catalog.Adopt(), files ?? AssetFiles.System);

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
        _current = new Adoption(catalog.Adopt(), _files);
        previous.Supersede();
    }

    /// <summary>The reactor stops; requests still in flight keep their snapshot until they end.</summary>
    public void Dispose() => _current.Supersede();
}
