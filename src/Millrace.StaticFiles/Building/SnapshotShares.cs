using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>What a snapshot that is being built holds of each budget: what it carries over, and what it takes anew.</summary>
internal sealed class SnapshotShares(AssetHoldings holdings, SiteOptions options, SnapshotTotals kept)
{
    private long _bakedBytes = kept.BakedBytes;
    private long _descriptors = kept.Descriptors;
    private long _hashedBytes = kept.HashedBytes;

    public bool HasMemoryFor(long bodyBytes) => holdings.Memory.HasRoomFor(BodyMemory.Taken(bodyBytes), _bakedBytes);

    public bool HasDescriptor => holdings.Descriptors.HasRoomFor(1, _descriptors);

    public bool HasHashingFor(long bodyBytes) => _hashedBytes + bodyBytes <= options.HashedBytesTotalMax;

    public void TakeMemory(long bodyBytes)
    {
        holdings.Memory.Take(BodyMemory.Taken(bodyBytes));
        _bakedBytes += BodyMemory.Taken(bodyBytes);
    }

    public void TakeDescriptor()
    {
        holdings.Descriptors.Take(1);
        _descriptors++;
    }

    /// <summary>Hashing takes nothing that is returned: it bounds what a build reads.</summary>
    public void TakeHashing(long bodyBytes) => _hashedBytes += bodyBytes;

    /// <summary>An asset of the snapshot before becomes part of this one, or after all does not.</summary>
    public void Carry(Asset asset, int sign = 1)
    {
        _bakedBytes += sign * asset.BakedBytes;
        _descriptors += sign * (asset.Descriptor != Asset.NoDescriptor ? 1 : 0);
        _hashedBytes += sign * asset.HashedBytes;
    }
}
