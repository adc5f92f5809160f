using System.Runtime.InteropServices;

namespace Millrace.Interop.Memory;

/// <summary>Anonymous and ring mappings, and files in memory. Mapping returns an address, or -errno as a small negative number.</summary>
internal static unsafe partial class MemoryCalls
{
    private const int ProtectionReadWrite = 1 | 2;
    private const int MapShared = 1;
    private const int MapPrivate = 2;
    private const int MapAnonymous = 0x20;
    private const int MapPopulate = 0x8000;
    private const int AdviceDontFork = 10;
    private const uint MemoryFileCloseOnExec = 1;
    private const uint MemoryFileNotExecutable = 8;

    /// <summary>Zeroed private pages that a child process does not inherit.</summary>
    public static nint MapAnonymousPages(nuint bytes) => Map(bytes, MapPrivate | MapAnonymous, -1, 0);

    /// <summary>One of a ring's areas, see the offsets in <see cref="IoUring.IoUringCalls"/>.</summary>
    public static nint MapRing(int ring, nuint bytes, long offset) => Map(bytes, MapShared | MapPopulate, ring, offset);

    public static bool Failed(nint address) => address is < 0 and > -4096;

    public static int Unmap(nint address, nuint bytes) => SystemCall.Result(munmap(address, bytes));

    /// <summary>A descriptor of a file without a name that lies in memory and holds these bytes.</summary>
    public static int MemoryFile(ReadOnlySpan<byte> content)
    {
        int fd = MemoryFile();
        fixed (byte* bytes = content)
        {
            nint written = fd < 0 ? fd : SystemCall.Result(write(fd, bytes, (nuint)content.Length));
            return ClosedUnless(written, fd);
        }
    }

    /// <summary>The same of so many zeroes, whose pages are taken now: no write into them fails later for want of memory.</summary>
    public static int MemoryFile(long bytes)
    {
        int fd = MemoryFile();
        int result;
        do
        {
            // A signal ends it before its time.
            result = fd < 0 ? fd : SystemCall.Result(fallocate(fd, 0, 0, bytes));
        }
        while (result == -Errno.EINTR);
        return ClosedUnless(result, fd);
    }

    /// <summary>A file's pages, to be read and written, which a child process does not inherit.</summary>
    public static nint MapFile(int fd, nuint bytes) => Map(bytes, MapShared | MapPopulate, fd, 0);

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
            // Kernels before 6.3 do not know the second flag; later ones may insist on it (vm.memfd_noexec), or complain.
            int fd = SystemCall.Result(memfd_create(name, MemoryFileCloseOnExec | MemoryFileNotExecutable));
            return fd == -Errno.EINVAL ? SystemCall.Result(memfd_create(name, MemoryFileCloseOnExec)) : fd;
        }
    }

    private static int ClosedUnless(nint result, int fd)
    {
        if (result < 0 && fd >= 0)
        {
            _ = Sockets.SocketCalls.Close(fd);
        }

        return result < 0 ? (int)result : fd;
    }

    [LibraryImport("libc")]
    private static partial int memfd_create(byte* name, uint flags);

    [LibraryImport("libc")]
    private static partial int fallocate(int fd, int mode, long offset, long bytes);

    [LibraryImport("libc")]
    private static partial nint write(int fd, byte* bytes, nuint count);

    [LibraryImport("libc")]
    private static partial nint mmap(nint address, nuint bytes, int protection, int flags, int fd, long offset);

    [LibraryImport("libc")]
    private static partial int munmap(nint address, nuint bytes);

    [LibraryImport("libc")]
    private static partial int madvise(nint address, nuint bytes, int advice);
}
