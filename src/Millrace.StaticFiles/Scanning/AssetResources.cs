using System.Diagnostics;
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
        Compressed = new ResourceBudget(options.ResolveCompressedBytesTotalMax(), options.ResolveCompressedBytesTotalMax());
    }

    public ResourceBudget Memory { get; }

    public ResourceBudget Descriptors { get; }

    /// <summary>The memory of published variants.</summary>
    public ResourceBudget Compressed { get; }

    /// <summary>Frees what an asset of a file owns, including its published variants.</summary>
    public void Free(Asset asset)
    {
        Debug.Assert(asset.Origin == AssetOrigin.File, "a variant is freed with its original");
        FreeOwn(asset, Memory);
        foreach (Asset variant in asset.Variants?.All ?? [])
        {
            if (variant.Origin == AssetOrigin.Published)
            {
                FreeOwn(variant, Compressed);
            }
        }
    }

    private void FreeOwn(Asset asset, ResourceBudget memory)
    {
        if (asset.Strategy == BodyStrategy.InMemory)
        {
            BodyMemory.Of(asset).Release();
            memory.Return(asset.InMemoryBytes);
        }
        else if (asset.Descriptor != Asset.NoDescriptor)
        {
            _ = FileCalls.Close(asset.Descriptor);
        }

        Descriptors.Return(asset.Descriptor != Asset.NoDescriptor ? 1 : 0);
    }
}
