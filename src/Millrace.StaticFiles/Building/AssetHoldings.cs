using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// What the assets of a catalogue hold outside the managed heap: native memory, which the kernel can read while the collector runs, and
/// descriptors; each counted in its budget. An asset's own are freed by <see cref="Free"/>, once, when nobody can reach it.
/// </summary>
internal sealed unsafe class AssetHoldings
{
    /// <summary>A cache line: no two bodies share one, and copies start aligned.</summary>
    public const int Alignment = 64;

    public AssetHoldings(SiteOptions options)
    {
        int descriptorsMax = options.ResolveDescriptorsMax();
        Memory = new Budget(options.BakedBytesTotalMax, 2 * options.BakedBytesTotalMax);
        Descriptors = new Budget(descriptorsMax / 2, descriptorsMax);
        Compressed = new Budget(options.CompressedBytesTotalMax, options.CompressedBytesTotalMax);
    }

    public Budget Memory { get; }

    public Budget Descriptors { get; }

    /// <summary>The memory of published variants.</summary>
    public Budget Compressed { get; }

    /// <summary>What a body of this size takes.</summary>
    public static long RoundUp(long bodyBytes) => (bodyBytes + Alignment - 1) & ~(Alignment - 1L);

    /// <summary>Memory for a body. An empty one has no address.</summary>
    public static byte* Allocate(long bodyBytes) =>
        bodyBytes == 0 ? null : (byte*)NativeMemory.AlignedAlloc((nuint)RoundUp(bodyBytes), Alignment);

    /// <summary>Gives memory back that no asset was made of, or whose asset is gone.</summary>
    public static void Release(byte* bytes, long bodyBytes)
    {
        Poison(bytes, bodyBytes);
        NativeMemory.AlignedFree(bytes);
    }

    /// <summary>Frees what an asset of a file owns, and its published variants with it.</summary>
    public void Free(Asset asset)
    {
        Debug.Assert(asset.Origin == AssetOrigin.File, "a variant goes with the asset it is of");
        FreeBody(asset, Memory);
        if (asset.Descriptor != Asset.NoDescriptor)
        {
            _ = FileCalls.Close(asset.Descriptor);
            Descriptors.Return(1);
        }

        foreach (Asset variant in asset.Variants?.All ?? [])
        {
            if (variant.Origin == AssetOrigin.Published)
            {
                FreeBody(variant, Compressed);
            }
        }
    }

    private static void FreeBody(Asset asset, Budget budget)
    {
        if (asset.Strategy == BodyStrategy.Baked)
        {
            Release(asset.BakedBodyAddress, asset.Size);
            budget.Return(RoundUp(asset.Size));
        }
    }

    /// <summary>So that a test which reads what was freed sees it.</summary>
    [Conditional("DEBUG")]
    private static void Poison(byte* bytes, long bodyBytes) => new Span<byte>(bytes, (int)bodyBytes).Fill(0xdd);
}
