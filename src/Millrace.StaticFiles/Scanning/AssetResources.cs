using System.Diagnostics;
using Millrace.Http;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The unmanaged resources of a catalog's assets, each counted in its budget: native memory, which the kernel can read while the collector
/// runs, and descriptors. <see cref="Free"/> is called once per asset, when nothing can reach it any more.
/// </summary>
internal sealed class AssetResources
{
    public AssetResources(SiteOptions options)
    {
        int descriptorsMax = options.ResolveDescriptorsMax();
        long memoryMax = options.ResolveCacheBytesMax();
        Memory = new ResourceBudget(memoryMax, 2 * memoryMax);
        Descriptors = new ResourceBudget(descriptorsMax / 2, descriptorsMax);
        long compressedMax = options.ResolveCompressedBytesTotalMax();
        Compressed = new ResourceBudget(compressedMax, compressedMax);
        Interim = new ResourceBudget(compressedMax / 2, compressedMax / 2);
        long dictionariesMax = options.ResolveDictionaryBytesTotalMax();
        Dictionaries = new ResourceBudget(dictionariesMax, dictionariesMax);
    }

    public ResourceBudget Memory { get; }

    public ResourceBudget Descriptors { get; }

    /// <summary>The memory of published variants.</summary>
    public ResourceBudget Compressed { get; }

    /// <summary>What interim variants have of it: half, as those of background compression gain more for it.</summary>
    public ResourceBudget Interim { get; }

    /// <summary>The memory of variants for the dictionaries of clients.</summary>
    public ResourceBudget Dictionaries { get; }

    /// <summary>
    /// Frees what an asset of a file owns, including the variants made of it, or what a replaced or dropped one of these owns.
    /// </summary>
    public void Free(Asset asset)
    {
        Debug.Assert(
            asset.Origin is AssetOrigin.File or AssetOrigin.Interim || asset.Coding.NeedsDictionary(),
            "other variants are freed with their original");
        FreeOwn(asset);
        foreach (Asset variant in asset.Variants?.All ?? [])
        {
            if (variant.Origin != AssetOrigin.Sibling)
            {
                FreeOwn(variant);
            }
        }

        foreach ((_, Asset variant) in asset.Dictionary is { } dictionary ? dictionary.Variants : default)
        {
            FreeOwn(variant);
        }
    }

    private void FreeOwn(Asset asset)
    {
        if (asset.Strategy == BodyStrategy.InMemory)
        {
            BodyMemory.Of(asset).Release();
            BudgetOf(asset).Return(asset.InMemoryBytes);
            Interim.Return(asset.Origin == AssetOrigin.Interim ? asset.InMemoryBytes : 0);
        }
        else if (asset.Descriptor != Asset.NoDescriptor)
        {
            _ = FileCalls.Close(asset.Descriptor);
        }

        Descriptors.Return(asset.Descriptor != Asset.NoDescriptor ? 1 : 0);
    }

    private ResourceBudget BudgetOf(Asset asset) =>
        asset.Coding.NeedsDictionary() ? Dictionaries : asset.Origin == AssetOrigin.File ? Memory : Compressed;
}

/// <summary>
/// A resource that the live snapshots of a site share: memory or descriptors. Builds take from it one after the other; any thread can
/// return what is freed.
/// </summary>
/// <param name="perSnapshotMax">The most that one snapshot may hold, including what it shares with others.</param>
/// <param name="totalMax">The most that all live snapshots may hold; old ones live as long as their slowest client.</param>
internal sealed class ResourceBudget(long perSnapshotMax, long totalMax)
{
    private long _held;

    public long Held => Interlocked.Read(ref _held);

    /// <summary>
    /// Whether a snapshot that holds this much may take more. The result is valid until <see cref="Take"/>, as builds do not overlap.
    /// </summary>
    public bool HasRoomFor(long amount, long heldBySnapshot) =>
        heldBySnapshot + amount <= perSnapshotMax && Held + amount <= totalMax;

    public void Take(long amount)
    {
        long held = Interlocked.Add(ref _held, amount);
        Debug.Assert(held <= totalMax, "a build takes no more than was available");
    }

    public void Return(long amount)
    {
        long held = Interlocked.Add(ref _held, -amount);
        Debug.Assert(held >= 0, "no more is returned than was taken");
    }
}

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
