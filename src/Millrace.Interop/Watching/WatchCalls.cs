using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary>
/// The system calls of inotify, and those to find out what a path passes through. All return -errno on failure; paths and names end with a
/// zero byte.
/// </summary>
internal static unsafe partial class WatchCalls
{
    /// <summary><c>IN_CLOEXEC</c> and <c>IN_NONBLOCK</c>.</summary>
    private const int CloseOnExec = 0x80000;
    private const int NonBlocking = 0x800;

    /// <summary>A non-blocking descriptor of an inotify instance. EMFILE: the limit fs.inotify.max_user_instances is reached.</summary>
    public static int Create() => SystemCall.Result(inotify_init1(CloseOnExec | NonBlocking));

    /// <summary>
    /// <c>inotify_add_watch(2)</c>: the watch of the path's target, the same one for the same inode. ENOSPC: the limit
    /// fs.inotify.max_user_watches is reached.
    /// </summary>
    public static int AddWatch(int inotify, ReadOnlySpan<byte> pathZ, WatchMask mask)
    {
        Debug.Assert(!pathZ.IsEmpty && pathZ[^1] == 0, "a path ends with a zero byte");
        fixed (byte* path = pathZ)
        {
            return SystemCall.Result(inotify_add_watch(inotify, path, (uint)mask));
        }
    }

    /// <summary>Removes a watch: 0. EINVAL if the kernel has removed it already. A record with IN_IGNORED follows.</summary>
    public static int RemoveWatch(int inotify, int watch) => SystemCall.Result(inotify_rm_watch(inotify, watch));

    /// <summary><c>read(2)</c>: whole records of an inotify instance, or the eight bytes of an eventfd.</summary>
    public static int Read(int fd, Span<byte> bytes)
    {
        fixed (byte* pointer = bytes)
        {
            return (int)SystemCall.Result(read(fd, pointer, (nuint)bytes.Length));
        }
    }

    /// <summary><c>poll(2)</c>: how many descriptors have events; 0 after the timeout. A negative timeout waits without limit.</summary>
    public static int Poll(Span<PollRequest> requests, int timeoutMs)
    {
        fixed (PollRequest* pointer = requests)
        {
            return SystemCall.Result(poll(pointer, (nuint)requests.Length, timeoutMs));
        }
    }

    /// <summary>The target of a symlink, truncated to the buffer. EINVAL: not a symlink.</summary>
    public static int ReadLink(int directoryFd, ReadOnlySpan<byte> nameZ, Span<byte> target)
    {
        Debug.Assert(!nameZ.IsEmpty && nameZ[^1] == 0, "a name ends with a zero byte");
        fixed (byte* name = nameZ)
        fixed (byte* pointer = target)
        {
            return (int)SystemCall.Result(readlinkat(directoryFd, name, pointer, (nuint)target.Length));
        }
    }

    /// <summary><c>fstatfs(2)</c>: 0.</summary>
    public static int GetFileSystem(int fd, out FileSystemStatus status)
    {
        fixed (FileSystemStatus* pointer = &status)
        {
            *pointer = default;
            return SystemCall.Result(fstatfs(fd, pointer));
        }
    }

    [LibraryImport("libc")]
    private static partial int inotify_init1(int flags);

    [LibraryImport("libc")]
    private static partial int inotify_add_watch(int fd, byte* path, uint mask);

    [LibraryImport("libc")]
    private static partial int inotify_rm_watch(int fd, int watch);

    [LibraryImport("libc")]
    private static partial nint read(int fd, byte* bytes, nuint count);

    [LibraryImport("libc")]
    private static partial int poll(PollRequest* requests, nuint requestCount, int timeoutMs);

    [LibraryImport("libc")]
    private static partial nint readlinkat(int directoryFd, byte* path, byte* target, nuint targetBytes);

    [LibraryImport("libc")]
    private static partial int fstatfs(int fd, FileSystemStatus* status);
}

/// <summary><c>struct pollfd</c>.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct PollRequest
{
    /// <summary><c>POLLIN</c>.</summary>
    public const short Readable = 1;

    public int Fd;
    public short Events;
    public short ReturnedEvents;
}
