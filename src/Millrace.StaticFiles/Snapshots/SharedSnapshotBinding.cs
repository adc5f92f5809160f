namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// Gives requests of any thread the latest snapshot, as <see cref="SnapshotBinding"/> does for one reactor. A superseded snapshot is
/// released with its last request, also if no request follows.
/// </summary>
internal sealed class SharedSnapshotBinding : IDisposable
{
    private readonly AssetCatalog _catalog;
    private readonly Lock _swapLock = new();
    private StripedSnapshotLease _current;
    private bool _isDisposed;

    public SharedSnapshotBinding(AssetCatalog catalog)
    {
        _catalog = catalog;
        _current = new StripedSnapshotLease(catalog.Acquire());
        catalog.Changed += AcquireLatest;
        AcquireLatest();
    }

    /// <summary>Leases the latest snapshot for one request.</summary>
    public SnapshotReference Lease()
    {
        while (true)
        {
            StripedSnapshotLease current = Volatile.Read(ref _current);

            // AssetCatalog.Changed is raised shortly after the swap; a request in between must not use the old snapshot.
            if (ReferenceEquals(current.Snapshot, _catalog.Current) && current.TryEnter(out int stripe))
            {
                return new SnapshotReference(current, stripe);
            }

            ObjectDisposedException.ThrowIf(Volatile.Read(ref _isDisposed), this);
            AcquireLatest();
        }
    }

    /// <summary>Lets no further request begin; in-flight requests keep their snapshot until they end.</summary>
    public void Dispose()
    {
        _catalog.Changed -= AcquireLatest;
        lock (_swapLock)
        {
            if (!_isDisposed)
            {
                Volatile.Write(ref _isDisposed, true);
                _current.Supersede();
            }
        }
    }

    private void AcquireLatest()
    {
        lock (_swapLock)
        {
            if (_isDisposed || ReferenceEquals(_current.Snapshot, _catalog.Current))
            {
                return;
            }

            StripedSnapshotLease previous = _current;
            Volatile.Write(ref _current, new StripedSnapshotLease(_catalog.Acquire()));
            previous.Supersede();
        }
    }
}
