using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// The current snapshot of a site. A reload or a refresh builds the next one and swaps it in atomically; what did not change is part of
/// both, and what did lives until the last adopter of a snapshot that has it has released it. Any thread may use it; changes wait for
/// each other.
/// </summary>
internal sealed class AssetCatalog : IRefreshable, IDisposable
{
    private readonly AssetHoldings _holdings;
    private readonly SnapshotBuilder _builder;
    private readonly RetirementOrder _order;
    private readonly IDirectoryObserver? _observer;
    private readonly Lock _changing = new();
    private CatalogSnapshot _current;
    private bool _disposed;

    private AssetCatalog(SiteOptions options, IDirectoryObserver? observer)
    {
        _observer = observer;
        _holdings = new AssetHoldings(options);
        _builder = new SnapshotBuilder(options, _holdings, observer);
        _order = new RetirementOrder(_holdings);
        _current = new CatalogSnapshot(_builder.All(null).Next, _order);
        _order.Enter(_current);
    }

    /// <summary>Raised after each swap, on the thread that made it.</summary>
    public event Action? Changed;

    /// <summary>Raised when memory and descriptors of old snapshots are given back, on a thread of the pool.</summary>
    public event Action? Freed
    {
        add => _order.Freed += value;
        remove => _order.Freed -= value;
    }

    /// <summary>The latest snapshot, without a lease: to compare with the one adopted, not to use.</summary>
    public CatalogSnapshot Current => Volatile.Read(ref _current);

    /// <summary>The native memory of all living assets, published variants apart.</summary>
    public long BakedBytesHeld => _holdings.Memory.Held;

    /// <summary>The native memory of all living published variants.</summary>
    public long CompressedBytesHeld => _holdings.Compressed.Held;

    /// <summary>The descriptors of all living assets, besides the roots'.</summary>
    public long DescriptorsHeld => _holdings.Descriptors.Held;

    /// <summary>The snapshots that somebody still uses, the current one among them.</summary>
    public int SnapshotsHeld => _order.Living;

    /// <summary>Opens a root and walks it. Throws <see cref="SiteException"/> where it cannot be served.</summary>
    /// <param name="options">What to serve, and how.</param>
    /// <param name="observer">Is shown each directory, now and at every change.</param>
    public static AssetCatalog Open(SiteOptions options, IDirectoryObserver? observer = null)
    {
        options.Validate();
        return new AssetCatalog(options, observer);
    }

    /// <summary>Leases the latest snapshot; the caller releases it.</summary>
    public CatalogSnapshot Adopt()
    {
        while (true)
        {
            ObjectDisposedException.ThrowIf(Volatile.Read(ref _disposed), this);
            CatalogSnapshot current = Current;
            // It fails only where a swap went by between the two lines, and then there is a newer one.
            if (current.TryAcquire())
            {
                return current;
            }
        }
    }

    /// <summary>
    /// Reads the root anew, by its name, so that a symlink which was pointed elsewhere is followed. What is still the same file is not
    /// read again. Throws <see cref="SiteException"/> where the root cannot be read, and then the current snapshot stays.
    /// </summary>
    public void Reload() => Change(previous => _builder.All(previous));

    /// <summary>
    /// Reads anew what has changed in some directories, and what is new below them. Throws <see cref="SiteException"/> where the site
    /// cannot be served as it is now, and then the current snapshot stays.
    /// </summary>
    /// <param name="changes">Each of another directory. Unknown ones are passed over.</param>
    public void Refresh(IReadOnlyCollection<DirectoryChange> changes) => Change(previous => _builder.Some(previous, changes));

    /// <summary>Adds coded variants to an asset that <see cref="CatalogSnapshot.AssetsToCompress"/> gave; all of them or none.</summary>
    /// <param name="asset">An asset of a file. It need not be leased any more.</param>
    /// <param name="bodies">Its body in codings it does not have yet. None says that nothing is gained.</param>
    public PublishOutcome Publish(Asset asset, IReadOnlyCollection<CodedBody> bodies)
    {
        int files = ReserveFiles(bodies.Count(static body => body.Bytes.Length >= BodyMemory.PagedBytesLeast));
        int filesHeld = 0;
        try
        {
            using var publication = new Publication(asset, bodies, files);
            lock (_changing)
            {
                PublishOutcome outcome = publication.Commit(_holdings.Compressed);
                filesHeld = publication.FilesCommitted;
                return outcome;
            }
        }
        finally
        {
            _holdings.Descriptors.Return(files - filesHeld);
        }
    }

    /// <summary>Gives up the current snapshot; its adopters keep it alive until they release it.</summary>
    public void Dispose()
    {
        lock (_changing)
        {
            if (!_disposed)
            {
                Volatile.Write(ref _disposed, true);
                IEnumerable<SiteDirectory> directories = _current.Content.Table.Directories.ToArray();
                Retire(_current, [.. directories.SelectMany(directory => directory.Assets.ToArray())], isRootDropped: true);
                _current.Release();
            }
        }
    }

    /// <summary>All that are wanted, or none. What is not used of them is returned.</summary>
    private int ReserveFiles(int wanted)
    {
        lock (_changing)
        {
            if (!_holdings.Descriptors.HasRoomFor(wanted, _holdings.Descriptors.Held))
            {
                return 0;
            }

            _holdings.Descriptors.Take(wanted);
            return wanted;
        }
    }

    private void Change(Func<SnapshotContent, SnapshotChange?> build)
    {
        lock (_changing)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            CatalogSnapshot previous = _current;
            if (build(previous.Content) is not SnapshotChange change)
            {
                return;
            }

            var next = new CatalogSnapshot(change.Next, _order);
            _order.Enter(next);
            Retire(previous, change.Dropped, isRootDropped: change.Next.Root != previous.Content.Root);
            Volatile.Write(ref _current, next);
            previous.Release();
            foreach (SitePath path in change.Left)
            {
                _observer?.Left(path.Bytes);
            }
        }

        Changed?.Invoke();
    }

    private static void Retire(CatalogSnapshot last, IReadOnlyCollection<Asset> assets, bool isRootDropped)
    {
        foreach (Asset asset in assets)
        {
            asset.IsRetired = true;
        }

        last.Retired.Add(assets, isRootDropped ? last.Content.Root : null);
    }
}
