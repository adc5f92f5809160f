using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Files;
using Millrace.Interop.Memory;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// The memory of a body, native, so that the kernel can read it while the collector runs. That of a large one is the pages of a file
/// without a name, mapped: a socket can then take them by reference. Whoever made it releases it, once, or gives it to an asset.
/// </summary>
/// <remarks>
/// A file for each body, closed as a whole: the kernel frees its pages when the last socket has let them go. Out of one file for all, a
/// part would be cut out, and of a huge page the kernel zeroes a part that is cut out, for those who still send it, too.
/// </remarks>
internal readonly unsafe struct BodyMemory
{
    /// <summary>A cache line: no two bodies share one, and copies start aligned.</summary>
    public const int Alignment = 64;

    /// <summary>From here on connections send pages for less than a copy costs.</summary>
    public const int PagedBytesLeast = 64 * 1024;

    /// <summary>Each is a mapping, of which a process has 65,530 (vm.max_map_count): most are for the others.</summary>
    private const int MappingsMax = 16 * 1024;

    private const int PageBytes = 4096;

    /// <summary>Longer files cost the process its life (SIGXFSZ), those in memory as well.</summary>
    private static readonly ulong FileBytesMax = FileCalls.GetFileSizeLimit(out ResourceLimit limit) < 0 ? 0 : limit.Soft;

    private static int Mappings;

    private BodyMemory(byte* address, int pages, long bytes)
    {
        Address = address;
        Pages = pages;
        Bytes = bytes;
    }

    public byte* Address { get; }

    /// <summary>The file whose pages it is, from its start; <see cref="Asset.NoDescriptor"/> where it is ordinary memory.</summary>
    public int Pages { get; }

    /// <summary>The bytes of the body.</summary>
    public long Bytes { get; }

    public bool HasPages => Pages != Asset.NoDescriptor;

    /// <summary>What a body of this size takes, at most.</summary>
    public static long Taken(long bodyBytes) => RoundUp(bodyBytes, bodyBytes < PagedBytesLeast ? Alignment : PageBytes);

    /// <summary>Memory for a body. An empty one has no address.</summary>
    /// <param name="bodyBytes">Its size.</param>
    /// <param name="mayHoldDescriptor">Whether it may be pages of a file. It is not where the kernel refuses.</param>
    public static BodyMemory Allocate(long bodyBytes, bool mayHoldDescriptor)
    {
        if (mayHoldDescriptor && bodyBytes >= PagedBytesLeast && TryAllocatePages(bodyBytes, MappingsMax, out BodyMemory pages))
        {
            return pages;
        }

        byte* address = bodyBytes == 0 ? null : (byte*)NativeMemory.AlignedAlloc((nuint)RoundUp(bodyBytes, Alignment), Alignment);
        return new BodyMemory(address, Asset.NoDescriptor, bodyBytes);
    }

    /// <summary>The memory of a body that an asset has.</summary>
    public static BodyMemory Of(Asset asset) => new(asset.BakedBodyAddress, asset.Descriptor, asset.Size);

    public Span<byte> Body => new(Address, (int)Bytes);

    public void Release()
    {
        if (!HasPages)
        {
            Poison();
            NativeMemory.AlignedFree(Address);
            return;
        }

        // Not poisoned: sockets may still hold them. Who reads here again faults.
        _ = MemoryCalls.Unmap((nint)Address, (nuint)Bytes);
        _ = FileCalls.Close(Pages);
        Interlocked.Decrement(ref Mappings);
    }

    /// <summary>Pages of a file, if the kernel gives them and the process has not so many mappings already.</summary>
    internal static bool TryAllocatePages(long bytes, int mappingsMax, out BodyMemory memory)
    {
        memory = default;
        bool isAllocated = Interlocked.Increment(ref Mappings) <= mappingsMax && (ulong)bytes <= FileBytesMax && TryMap(bytes, out memory);
        if (!isAllocated)
        {
            Interlocked.Decrement(ref Mappings);
        }

        return isAllocated;
    }

    private static bool TryMap(long bytes, out BodyMemory memory)
    {
        memory = default;
        int file = MemoryCalls.MemoryFile(bytes);
        if (file < 0)
        {
            return false;
        }

        nint address = MemoryCalls.MapFile(file, (nuint)bytes);
        if (MemoryCalls.Failed(address))
        {
            _ = FileCalls.Close(file);
            return false;
        }

        memory = new BodyMemory((byte*)address, file, bytes);
        return true;
    }

    private static long RoundUp(long bytes, int unit) => (bytes + unit - 1) & ~(unit - 1L);

    /// <summary>So that a test which reads what was freed sees it.</summary>
    [Conditional("DEBUG")]
    private void Poison() => Body.Fill(0xdd);
}
