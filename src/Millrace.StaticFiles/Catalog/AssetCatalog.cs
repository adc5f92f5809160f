using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// The current snapshot of a site. Reload builds the next one and swaps it in atomically; the one before lives until its last
/// adopter has released it. Any thread may use it; reloads wait for each other.
/// </summary>
internal sealed class AssetCatalog : IDisposable
{
    private readonly SiteOptions _options;
    private readonly Budget _memory;
    private readonly Budget _descriptors;
    private readonly Lock _reloading = new();
    private CatalogSnapshot _current;
    private bool _disposed;

    private AssetCatalog(SiteOptions options)
    {
        int descriptorsMax = options.ResolveDescriptorsMax();
        _options = options;
        _memory = new Budget(options.BakedBytesTotalMax, 2 * options.BakedBytesTotalMax);
        _descriptors = new Budget(descriptorsMax / 2, descriptorsMax);
        _current = SnapshotBuilder.Build(options, _memory, _descriptors);
    }

    /// <summary>The latest snapshot, without a lease: to compare with the one adopted, not to use.</summary>
    public CatalogSnapshot Current => Volatile.Read(ref _current);

    /// <summary>The native memory of all living snapshots.</summary>
    public long BakedBytesHeld => _memory.Held;

    /// <summary>The descriptors of all living snapshots, besides their roots'.</summary>
    public long DescriptorsHeld => _descriptors.Held;

    /// <summary>Opens a root and walks it. Throws <see cref="SiteException"/> where it cannot be served.</summary>
    public static AssetCatalog Open(SiteOptions options)
    {
        options.Validate();
        return new AssetCatalog(options);
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
    /// Reads the root anew, by its name, so that a symlink which was pointed elsewhere is followed. Throws
    /// <see cref="SiteException"/> where it cannot be read, and then the current snapshot stays.
    /// </summary>
    public void Reload()
    {
        lock (_reloading)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            CatalogSnapshot next = SnapshotBuilder.Build(_options, _memory, _descriptors);
            CatalogSnapshot previous = Interlocked.Exchange(ref _current, next);
            previous.Release();
        }
    }

    /// <summary>Gives up the current snapshot; its adopters keep it alive until they release it.</summary>
    public void Dispose()
    {
        lock (_reloading)
        {
            if (!_disposed)
            {
                Volatile.Write(ref _disposed, true);
                _current.Release();
            }
        }
    }
}
