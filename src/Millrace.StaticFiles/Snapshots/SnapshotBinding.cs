namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Holds one reactor's lease on the latest snapshot. Belongs to that reactor's thread. A check costs one read of a shared reference, a
/// reload one interlocked count: no request touches memory that another core writes.
/// </summary>
/// <param name="catalog">The catalog that provides the snapshots.</param>
/// <param name="files">Opens the snapshots' files; null for the kernel's file system.</param>
internal sealed class SnapshotBinding(AssetCatalog catalog, AssetFiles? files = null) : IDisposable
{
    private readonly AssetFiles _files = files ?? AssetFiles.System;
    private SnapshotLease _current = new(catalog.Acquire(), files ?? AssetFiles.System);

    /// <summary>The lease for requests that begin now. It stays the same until the next <see cref="AcquireLatest"/>.</summary>
    public SnapshotLease Current => _current;

    /// <summary>
    /// Moves to the latest snapshot; call between two requests. The previous snapshot is released when its last request ends.
    /// </summary>
    public void AcquireLatest()
    {
        if (ReferenceEquals(catalog.Current, _current.Snapshot))
        {
            return;
        }

        SnapshotLease previous = _current;
        _current = new SnapshotLease(catalog.Acquire(), _files);
        previous.Supersede();
    }

    /// <summary>Ends the lease when the reactor stops; in-flight requests keep their snapshot until they end.</summary>
    public void Dispose() => _current.Supersede();
}
