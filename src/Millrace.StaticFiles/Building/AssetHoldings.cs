using System.Diagnostics;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// What the assets of a catalogue hold outside the managed heap: native memory, which the kernel can read while the collector runs, and
/// descriptors; each counted in its budget. An asset's own are freed by <see cref="Free"/>, once, when nobody can reach it.
/// </summary>
internal sealed class AssetHoldings
{
    public AssetHoldings(SiteOptions options)
    {
        int descriptorsMax = options.ResolveDescriptorsMax();
        long memoryMax = options.ResolveBakedBytesTotalMax();
        Memory = new Budget(memoryMax, 2 * memoryMax);
        Descriptors = new Budget(descriptorsMax / 2, descriptorsMax);
        Compressed = new Budget(options.CompressedBytesTotalMax, options.CompressedBytesTotalMax);
    }

    public Budget Memory { get; }

    public Budget Descriptors { get; }

    /// <summary>The memory of published variants.</summary>
    public Budget Compressed { get; }

    /// <summary>Frees what an asset of a file owns, and its published variants with it.</summary>
    public void Free(Asset asset)
    {
        Debug.Assert(asset.Origin == AssetOrigin.File, "a variant goes with the asset it is of");
        FreeOwn(asset, Memory);
        foreach (Asset variant in asset.Variants?.All ?? [])
        {
            if (variant.Origin == AssetOrigin.Published)
            {
                FreeOwn(variant, Compressed);
            }
        }
    }

    private void FreeOwn(Asset asset, Budget memory)
    {
        if (asset.Strategy == BodyStrategy.Baked)
        {
            BodyMemory.Of(asset).Release();
            memory.Return(asset.BakedBytes);
        }
        else if (asset.Descriptor != Asset.NoDescriptor)
        {
            _ = FileCalls.Close(asset.Descriptor);
        }

        Descriptors.Return(asset.Descriptor != Asset.NoDescriptor ? 1 : 0);
    }
}
