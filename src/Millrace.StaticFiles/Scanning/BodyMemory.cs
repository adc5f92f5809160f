using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Files;
using Millrace.Interop.Memory;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// The native memory of a body, which the kernel can read while the collector runs. A large body is the mapped pages of an unnamed memory
/// file, which a socket can take by reference. The creator releases it once, or passes it to an asset.
/// </summary>
/// <remarks>
/// One file per body, closed as a whole: the kernel frees its pages when the last socket has released them. In one file for all bodies,
/// freeing one would punch a hole, and within a huge page the kernel zeroes the hole even for sockets that still send it.
/// </remarks>
internal readonly unsafe struct BodyMemory(byte* address, int pages, long bytes)
{
    /// <summary>A cache line: no two bodies share one, and copies start aligned.</summary>
    public const int Alignment = 64;

    /// <summary>From this size on, sending pages costs less than a copy.</summary>
    public const int PagedBytesMin = 32 * 1024;

    /// <summary>Each takes a mapping, of which a process has 65,530 (vm.max_map_count); most are left for others.</summary>
    private const int MappingsMax = 16 * 1024;

    private const int PageBytes = 4096;

    /// <summary>RLIMIT_FSIZE: exceeding it kills the process (SIGXFSZ), also for files in memory.</summary>
    private static readonly ulong FileBytesMax = FileCalls.GetFileSizeLimit(out ResourceLimit limit) < 0 ? 0 : limit.Soft;

    private static int Mappings;

    public byte* Address => address;

    /// <summary>The memory file that it maps from the start; <see cref="Asset.NoDescriptor"/> for ordinary memory.</summary>
    public int Pages => pages;

    public long Bytes => bytes;

    public bool HasPages => Pages != Asset.NoDescriptor;

    /// <summary>The most memory that a body of this size takes.</summary>
    public static long AllocatedBytes(long bodyBytes) => RoundUp(bodyBytes, bodyBytes < PagedBytesMin ? Alignment : PageBytes);

    /// <summary>
    /// Allocates memory for a body, of a memory file if it may hold a descriptor and the kernel does not refuse. An empty one has no
    /// address.
    /// </summary>
    public static BodyMemory Allocate(long bodyBytes, bool mayHoldDescriptor)
    {
        if (mayHoldDescriptor && bodyBytes >= PagedBytesMin && TryAllocatePages(bodyBytes, MappingsMax, out BodyMemory pages))
        {
            return pages;
        }

        byte* address = bodyBytes == 0 ? null : (byte*)NativeMemory.AlignedAlloc((nuint)RoundUp(bodyBytes, Alignment), Alignment);
        return new BodyMemory(address, Asset.NoDescriptor, bodyBytes);
    }

    public static BodyMemory Of(Asset asset) => new(asset.InMemoryBodyAddress, asset.Descriptor, asset.Size);

    public Span<byte> Body => new(Address, (int)Bytes);

    public void Release()
    {
        if (!HasPages)
        {
            Poison();
            NativeMemory.AlignedFree(Address);
            return;
        }

        // Not poisoned: sockets may still send these pages. A later read here faults.
        _ = MemoryCalls.Unmap((nint)Address, (nuint)Bytes);
        _ = FileCalls.Close(Pages);
        Interlocked.Decrement(ref Mappings);
    }

    /// <summary>Maps a memory file, if the kernel allows it and the process has mappings left.</summary>
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

    /// <summary>Lets tests detect reads of freed memory.</summary>
    [Conditional("DEBUG")]
    private void Poison() => Body.Fill(0xdd);
}
