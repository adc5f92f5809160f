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

    /// <summary>Zeroed private pages that a child process does not inherit.</summary>
    public static nint MapAnonymousPages(nuint bytes)
    {
        nint address = SystemCall.Result(mmap(0, bytes, ProtectionReadWrite, MapPrivate | MapAnonymous, -1, 0));
        if (!Failed(address))
        {
            _ = madvise(address, bytes, AdviceDontFork);
        }

        return address;
    }

    /// <summary>One of a ring's areas, see the offsets in <see cref="IoUring.IoUringCalls"/>.</summary>
    public static nint MapRing(int ring, nuint bytes, long offset)
    {
        nint address = SystemCall.Result(mmap(0, bytes, ProtectionReadWrite, MapShared | MapPopulate, ring, offset));
        if (!Failed(address))
        {
            _ = madvise(address, bytes, AdviceDontFork);
        }

        return address;
    }

    public static bool Failed(nint address) => address is < 0 and > -4096;

    public static int Unmap(nint address, nuint bytes) => SystemCall.Result(munmap(address, bytes));

    /// <summary>A descriptor of a file without a name that lies in memory and holds these bytes.</summary>
    public static int MemoryFile(ReadOnlySpan<byte> content)
    {
        fixed (byte* name = "millrace\0"u8)
        fixed (byte* bytes = content)
        {
            int fd = SystemCall.Result(memfd_create(name, MemoryFileCloseOnExec));
            nint written = fd < 0 ? fd : SystemCall.Result(write(fd, bytes, (nuint)content.Length));
            if (fd >= 0 && written < 0)
            {
                _ = Sockets.SocketCalls.Close(fd);
            }

            return written < 0 ? (int)written : fd;
        }
    }

    [LibraryImport("libc")]
    private static partial int memfd_create(byte* name, uint flags);

    [LibraryImport("libc")]
    private static partial nint write(int fd, byte* bytes, nuint count);

    [LibraryImport("libc")]
    private static partial nint mmap(nint address, nuint bytes, int protection, int flags, int fd, long offset);

    [LibraryImport("libc")]
    private static partial int munmap(nint address, nuint bytes);

    [LibraryImport("libc")]
    private static partial int madvise(nint address, nuint bytes, int advice);
}
