using Millrace.Http;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// The current snapshot of a site. A reload or a refresh builds the next one, which shares unchanged assets, and swaps it in atomically;
/// assets that were dropped live until the last lease on a snapshot that contains them is released. Any thread; changes are serialized.
/// </summary>
internal sealed class AssetCatalog : IRefreshable, IDisposable
{
    private readonly AssetResources _resources;
    private readonly SnapshotBuilder _builder;
    private readonly DeferredFreeQueue _freeQueue;
    private readonly IDirectoryObserver? _observer;
    private readonly Lock _changeLock = new();
    private CatalogSnapshot _current;
    private bool _disposed;

    private AssetCatalog(SiteOptions options, IDirectoryObserver? observer, ScanProgress? progress)
    {
        _observer = observer;
        _resources = new AssetResources(options);
        _freeQueue = new DeferredFreeQueue(_resources);
        _builder = new SnapshotBuilder(options, _resources, _freeQueue, observer, progress);
        _current = _builder.BuildAll(null).Next;
        _freeQueue.Add(_current);
    }

    /// <summary>Raised after each swap, on the thread that made it.</summary>
    public event Action? Changed;

    /// <summary>Raised when memory and descriptors of old snapshots were freed, on a thread-pool thread.</summary>
    public event Action? Freed
    {
        add => _freeQueue.Freed += value;
        remove => _freeQueue.Freed -= value;
    }

    /// <summary>The latest snapshot without a lease: only to compare with a leased one.</summary>
    public CatalogSnapshot Current => Volatile.Read(ref _current);

    /// <summary>The native memory of all live assets, without published variants.</summary>
    public long InMemoryBytesHeld => _resources.Memory.Held;

    /// <summary>The native memory of all live published variants.</summary>
    public long CompressedBytesHeld => _resources.Compressed.Held;

    /// <summary>The native memory of all live variants for dictionaries.</summary>
    public long DictionaryBytesHeld => _resources.Dictionaries.Held;

    /// <summary>Whether there is memory for so many bytes of variants for dictionaries.</summary>
    public bool HasRoomForDictionary(long bytes) => _resources.Dictionaries.HasRoomFor(bytes, DictionaryBytesHeld);

    /// <summary>Whether there is memory for an interim variant, however small.</summary>
    public bool HasRoomForInterim =>
        _resources.Interim.HasRoomFor(1, _resources.Interim.Held) && _resources.Compressed.HasRoomFor(1, _resources.Compressed.Held);

    /// <summary>The descriptors of all live assets, without those of the roots.</summary>
    public long DescriptorsHeld => _resources.Descriptors.Held;

    /// <summary>The number of snapshots that are not yet released, including the current one.</summary>
    public int SnapshotsHeld => _freeQueue.LiveCount;

    /// <summary>Opens and scans a root. Throws <see cref="SiteException"/> if it cannot be served.</summary>
    public static AssetCatalog Open(SiteOptions options, IDirectoryObserver? observer = null, ScanProgress? progress = null)
    {
        options.Validate();
        return new AssetCatalog(options, observer, progress);
    }

    /// <summary>Leases the latest snapshot; the caller releases it.</summary>
    public CatalogSnapshot Acquire()
    {
        CatalogSnapshot current = CurrentUnlessDisposed();
        while (!current.TryAcquire())
        {
            current = CurrentUnlessDisposed();
        }

        return current;
    }

    /// <summary>Leases the latest snapshot for one request, without memory that other cores write.</summary>
    public SnapshotLease AcquireForRequest()
    {
        SnapshotLease lease;
        while (!CurrentUnlessDisposed().Requests.TryEnter(out lease))
        {
        }

        return lease;
    }

    /// <summary>
    /// Rescans the root by its name, so that a symlink is resolved again. Unchanged files are not read again. Throws
    /// <see cref="SiteException"/> if the root cannot be read; the current snapshot then stays.
    /// </summary>
    public void Reload() => Change(previous => _builder.BuildAll(previous));

    /// <summary>
    /// Rescans what changed in some directories, and what is new below them. Throws <see cref="SiteException"/> if the site cannot be
    /// served in its present state; the current snapshot then stays.
    /// </summary>
    public void Refresh(IReadOnlyCollection<DirectoryChange> changes) => Change(previous => _builder.BuildChanges(previous, changes));

    /// <summary>
    /// Adds variants to an asset that may be compressed, in codings that it still accepts: all of them or none. Empty if nothing is gained.
    /// Its lease may have been released. Interim variants are replaced, and freed after the snapshots that they were served from.
    /// </summary>
    public PublishOutcome Publish(
        Asset asset, IReadOnlyCollection<CodedBody> bodies, AssetOrigin origin = AssetOrigin.Background)
    {
        int files = ReserveFiles(bodies.Count(static body => body.Bytes.Length >= BodyMemory.PagedBytesMin));
        int filesHeld = 0;
        try
        {
            using var publication = new VariantPublication(asset, bodies, origin, files);
            lock (_changeLock)
            {
                PublishOutcome outcome = publication.Commit(_resources);
                filesHeld = publication.FilesCommitted;
                _current.Retired.Add(publication.Replaced, root: null);
                return outcome;
            }
        }
        finally
        {
            _resources.Descriptors.Return(files - filesHeld);
        }
    }

    /// <summary>Sets what an asset is to clients with dictionaries, before it has variants for them. False if it was retired.</summary>
    public bool SetDictionary(Asset asset, AssetDictionary dictionary)
    {
        lock (_changeLock)
        {
            if (!asset.IsRetired)
            {
                asset.SetDictionary(dictionary);
            }

            return !asset.IsRetired;
        }
    }

    /// <summary>Adds a variant for a dictionary to an asset that <see cref="SetDictionary"/> was called for.</summary>
    public PublishOutcome Publish(Asset asset, in DictionaryHash dictionary, ContentCoding coding, ReadOnlySpan<byte> coded)
    {
        // Copied and hashed without the lock. It holds no descriptor: those are for files.
        BodyMemory memory = BodyMemory.Allocate(coded.Length, mayHoldDescriptor: false);
        coded.CopyTo(memory.Body);
        Asset variant = asset.WithCodedBody(coding, AssetOrigin.Background, ContentDigest.Of(coded), memory, WallClock.NowNs);
        PublishOutcome outcome;
        lock (_changeLock)
        {
            outcome = asset is { IsRetired: false, Dictionary: { } known } && known.VariantFor(dictionary, coding) is null
                ? PublishOutcome.Published
                : PublishOutcome.Obsolete;
            if (outcome == PublishOutcome.Published && !_resources.Dictionaries.HasRoomFor(variant.InMemoryBytes, DictionaryBytesHeld))
            {
                outcome = PublishOutcome.NoRoom;
            }

            if (outcome == PublishOutcome.Published)
            {
                _resources.Dictionaries.Take(variant.InMemoryBytes);
                asset.SetDictionary(asset.Dictionary!.With(dictionary, variant));
            }
        }

        if (outcome != PublishOutcome.Published)
        {
            memory.Release();
        }

        return outcome;
    }

    /// <summary>
    /// Takes variants for lost dictionaries from an asset. They are freed after the snapshots that they were served from.
    /// </summary>
    public void DropVariants(Asset asset, Func<DictionaryHash, bool> isLost)
    {
        lock (_changeLock)
        {
            if (asset is { IsRetired: false, Dictionary: { } dictionary })
            {
                asset.SetDictionary(dictionary.Without(isLost, out Asset[] dropped));
                _current.Retired.Add(dropped, root: null);
            }
        }
    }

    /// <summary>Records what the decoding of a sibling has shown. False if its original has changed or vanished meanwhile.</summary>
    public bool Decide(Asset original, Sibling sibling, SiblingVerdict verdict)
    {
        lock (_changeLock)
        {
            if (original.IsRetired)
            {
                return false;
            }

            original.Decide(sibling, verdict);
            return true;
        }
    }

    /// <summary>If variants were replaced or dropped, begins a snapshot of the same content: they are freed with those before it.</summary>
    public void FreeReplaced() =>
        Change(static previous => previous.Retired.IsEmpty ? null : new SnapshotChange(previous.Copy(), [], []));

    /// <summary>Releases the current snapshot; existing leases keep it alive.</summary>
    public void Dispose()
    {
        lock (_changeLock)
        {
            if (!_disposed)
            {
                Volatile.Write(ref _disposed, true);
                IEnumerable<SiteDirectory> directories = _current.Table.Directories.ToArray();
                Retire(_current, [.. directories.SelectMany(directory => directory.Assets.ToArray())], isRootDropped: true);
                _current.Requests.Supersede();
            }
        }
    }

    private CatalogSnapshot CurrentUnlessDisposed()
    {
        ObjectDisposedException.ThrowIf(Volatile.Read(ref _disposed), this);
        return Current;
    }

    /// <summary>Reserves all <paramref name="wanted"/> descriptors, or none. The caller returns the unused ones.</summary>
    private int ReserveFiles(int wanted)
    {
        lock (_changeLock)
        {
            if (!_resources.Descriptors.HasRoomFor(wanted, _resources.Descriptors.Held))
            {
                return 0;
            }

            _resources.Descriptors.Take(wanted);
            return wanted;
        }
    }

    private void Change(Func<CatalogSnapshot, SnapshotChange?> build)
    {
        lock (_changeLock)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            CatalogSnapshot previous = _current;
            if (build(previous) is not SnapshotChange change)
            {
                return;
            }

            _freeQueue.Add(change.Next);
            Retire(previous, change.Dropped, isRootDropped: change.Next.Root != previous.Root);
            Volatile.Write(ref _current, change.Next);
            previous.Requests.Supersede();
            foreach (SitePath path in change.Removed)
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

        last.Retired.Add(assets, isRootDropped ? last.Root : null);
    }
}
