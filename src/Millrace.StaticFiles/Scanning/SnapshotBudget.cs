using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>The share of each budget that the snapshot being built holds: carried-over and newly taken resources.</summary>
internal sealed class SnapshotBudget(AssetResources resources, SiteOptions options, SnapshotTotals kept)
{
    private long _inMemoryBytes = kept.InMemoryBytes;
    private long _descriptors = kept.Descriptors;
    private long _hashedBytes = kept.HashedBytes;

    public bool HasMemoryFor(long bodyBytes) => resources.Memory.HasRoomFor(BodyMemory.AllocatedBytes(bodyBytes), _inMemoryBytes);

    public bool HasDescriptor => resources.Descriptors.HasRoomFor(1, _descriptors);

    public bool HasHashingFor(long bodyBytes) => _hashedBytes + bodyBytes <= options.HashedBytesTotalMax;

    public void TakeMemory(long bodyBytes)
    {
        resources.Memory.Take(BodyMemory.AllocatedBytes(bodyBytes));
        _inMemoryBytes += BodyMemory.AllocatedBytes(bodyBytes);
    }

    public void TakeDescriptor()
    {
        resources.Descriptors.Take(1);
        _descriptors++;
    }

    /// <summary>Counts hashed bytes. They are never returned: the limit is on what a build reads.</summary>
    public void TakeHashing(long bodyBytes) => _hashedBytes += bodyBytes;

    /// <summary>Carries an asset of the previous snapshot over, or with -1 undoes that.</summary>
    public void Carry(Asset asset, int sign = 1)
    {
        _inMemoryBytes += sign * asset.InMemoryBytes;
        _descriptors += sign * (asset.Descriptor != Asset.NoDescriptor ? 1 : 0);
        _hashedBytes += sign * asset.HashedBytes;
    }
}
