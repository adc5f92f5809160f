namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// Keeps requests of any thread on the latest snapshot, as <see cref="SnapshotAdopter"/> does those of one reactor. A snapshot that was
/// superseded is released with its last request, also where no other follows.
/// </summary>
internal sealed class SharedAdopter : IDisposable
{
    private readonly AssetCatalog _catalog;
    private readonly Lock _adopting = new();
    private SharedAdoption _current;
    private bool _isDisposed;

    public SharedAdopter(AssetCatalog catalog)
    {
        _catalog = catalog;
        _current = new SharedAdoption(catalog.Adopt());
        catalog.Changed += AdoptLatest;
        AdoptLatest();
    }

    /// <summary>Leases the latest snapshot for one request.</summary>
    public SnapshotLease Lease()
    {
        while (true)
        {
            SharedAdoption current = Volatile.Read(ref _current);

            // The catalogue tells of a swap a moment after it: who asks meanwhile must not be answered from before.
            if (ReferenceEquals(current.Snapshot, _catalog.Current) && current.TryEnter(out int stripe))
            {
                return new SnapshotLease(current, stripe);
            }

            ObjectDisposedException.ThrowIf(Volatile.Read(ref _isDisposed), this);
            AdoptLatest();
        }
    }

    /// <summary>No request begins any more; those under way keep their snapshot until they end.</summary>
    public void Dispose()
    {
        _catalog.Changed -= AdoptLatest;
        lock (_adopting)
        {
            if (!_isDisposed)
            {
                Volatile.Write(ref _isDisposed, true);
                _current.Supersede();
            }
        }
    }

    private void AdoptLatest()
    {
        lock (_adopting)
        {
            if (_isDisposed || ReferenceEquals(_current.Snapshot, _catalog.Current))
            {
                return;
            }

            SharedAdoption previous = _current;
            Volatile.Write(ref _current, new SharedAdoption(_catalog.Adopt()));
            previous.Supersede();
        }
    }
}
