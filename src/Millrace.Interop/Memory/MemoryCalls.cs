using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Interop.Files;

namespace Millrace.Interop.Memory;

/// <summary>
/// Anonymous, ring and file mappings, and memory files. A mapping returns an address, or -errno as a small negative number.
/// </summary>
internal static unsafe partial class MemoryCalls
{
    private const int ProtectionReadWrite = 1 | 2;
    private const int MapShared = 1;
    private const int MapPrivate = 2;
    private const int MapAnonymous = 0x20;
    private const int MapPopulate = 0x8000;
    private const int AdviceDontNeed = 4;
    private const int AdviceDontFork = 10;
    private const uint MemoryFileCloseOnExec = 1;
    private const uint MemoryFileNotExecutable = 8;

    /// <summary>Zeroed private pages that a child process does not inherit.</summary>
    public static nint MapAnonymousPages(nuint bytes) => Map(bytes, MapPrivate | MapAnonymous, -1, 0);

    /// <summary>Maps an area of a ring; see the offsets in <see cref="IoUring.IoUringCalls"/>.</summary>
    public static nint MapRing(int ring, nuint bytes, long offset) => Map(bytes, MapShared | MapPopulate, ring, offset);

    public static bool Failed(nint address) => address is < 0 and > -4096;

    public static int Unmap(nint address, nuint bytes) => SystemCall.Result(munmap(address, bytes));

    /// <summary>A descriptor of an unnamed file in memory with this content.</summary>
    public static int MemoryFile(ReadOnlySpan<byte> content)
    {
        int fd = MemoryFile();
        return ClosedUnless(fd < 0 ? fd : FileCalls.Write(fd, content), fd);
    }

    /// <summary>The same with so many zeroes, whose pages are allocated now: no later write fails for lack of memory.</summary>
    public static int MemoryFile(long bytes)
    {
        int fd = MemoryFile();
        int result;
        do
        {
            // A signal interrupts the call.
            result = fd < 0 ? fd : SystemCall.Result(fallocate(fd, 0, 0, bytes));
        }
        while (result == -Errno.EINTR);
        return ClosedUnless(result, fd);
    }

    /// <summary>Maps a file's pages, readable and writable; a child process does not inherit them.</summary>
    public static nint MapFile(int fd, nuint bytes) => Map(bytes, MapShared | MapPopulate, fd, 0);

    /// <summary>Discards the pages' content; they take no memory until written again (MADV_DONTNEED).</summary>
    public static int DiscardPages(nint address, nuint bytes) => SystemCall.Result(madvise(address, bytes, AdviceDontNeed));

    /// <summary>Makes the C library return freed memory to the system, if it has malloc_trim; musl returns it by itself.</summary>
    public static void TrimHeap()
    {
        if (NativeLibrary.TryGetExport(NativeLibrary.GetMainProgramHandle(), "malloc_trim", out nint trim))
        {
            _ = ((delegate* unmanaged<nuint, int>)trim)(0);
        }
    }

    private static nint Map(nuint bytes, int flags, int fd, long offset)
    {
        nint address = SystemCall.Result(mmap(0, bytes, ProtectionReadWrite, flags, fd, offset));
        if (!Failed(address))
        {
            _ = madvise(address, bytes, AdviceDontFork);
        }

        return address;
    }

    private static int MemoryFile()
    {
        fixed (byte* name = "millrace\0"u8)
        {
            // Kernels before 6.3 do not know the second flag; later ones may require it (vm.memfd_noexec), or warn.
            int fd = SystemCall.Result(memfd_create(name, MemoryFileCloseOnExec | MemoryFileNotExecutable));
            return fd == -Errno.EINVAL ? SystemCall.Result(memfd_create(name, MemoryFileCloseOnExec)) : fd;
        }
    }

    private static int ClosedUnless(nint result, int fd)
    {
        if (result < 0 && fd >= 0)
        {
            _ = FileCalls.Close(fd);
        }

        return result < 0 ? (int)result : fd;
    }

    [LibraryImport("libc")]
    private static partial int memfd_create(byte* name, uint flags);

    [LibraryImport("libc")]
    private static partial int fallocate(int fd, int mode, long offset, long bytes);

    [LibraryImport("libc")]
    private static partial nint mmap(nint address, nuint bytes, int protection, int flags, int fd, long offset);

    [LibraryImport("libc")]
    private static partial int munmap(nint address, nuint bytes);

    [LibraryImport("libc")]
    private static partial int madvise(nint address, nuint bytes, int advice);
}

/// <summary>
/// The memory this process may use: its cgroup's limit, or the machine's memory if that is less, as the runtime found it. The collector's
/// own limit is a part of it; the remaining part is for native memory. Any thread.
/// </summary>
internal static class ProcessMemory
{
    /// <summary>If the collector has a limit (GCHeapHardLimitPercent), the runtime reports only that.</summary>
    public static long Bytes { get; } = Of(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes, HeapPercent());

    /// <param name="availableBytes">The memory that the runtime reports for the collector.</param>
    /// <param name="heapPercent">The collector's percentage of all memory; 0 if it is all.</param>
    public static long Of(long availableBytes, int heapPercent) =>
        heapPercent is > 0 and < 100 ? availableBytes / heapPercent * 100 : availableBytes;

    private static int HeapPercent()
    {
        IReadOnlyDictionary<string, object> configuration = GC.GetConfigurationVariables();
        bool isFixed = NumberOf(configuration, "GCHeapHardLimit") > 0 && NumberOf(configuration, "GCHeapHardLimitPercent") == 0;
        return isFixed ? 0 : (int)NumberOf(configuration, "GCHeapHardLimitPercent");
    }

    private static long NumberOf(IReadOnlyDictionary<string, object> configuration, string name) =>
        configuration.TryGetValue(name, out object? value) ? Convert.ToInt64(value, CultureInfo.InvariantCulture) : 0;
}
