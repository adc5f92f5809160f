using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary>
/// The system calls of inotify, and what it takes to know what a path passes through. All return -errno on failure; paths and names
/// end with a zero byte.
/// </summary>
internal static unsafe partial class WatchCalls
{
    /// <summary><c>IN_CLOEXEC</c> and <c>IN_NONBLOCK</c>.</summary>
    private const int CloseOnExec = 0x80000;
    private const int NonBlocking = 0x800;

    /// <summary>A descriptor of an inotify instance, non-blocking. EMFILE: fs.inotify.max_user_instances are taken.</summary>
    public static int Create() => SystemCall.Result(inotify_init1(CloseOnExec | NonBlocking));

    /// <summary>
    /// <c>inotify_add_watch(2)</c>: the watch of what the path leads to, the same one for the same inode. ENOSPC:
    /// fs.inotify.max_user_watches are taken.
    /// </summary>
    public static int AddWatch(int inotify, ReadOnlySpan<byte> pathZ, WatchMask mask)
    {
        Debug.Assert(!pathZ.IsEmpty && pathZ[^1] == 0, "a path ends with a zero byte");
        fixed (byte* path = pathZ)
        {
            return SystemCall.Result(inotify_add_watch(inotify, path, (uint)mask));
        }
    }

    /// <summary>Ends a watch: 0. EINVAL where the kernel has ended it already. A record with IN_IGNORED follows.</summary>
    public static int RemoveWatch(int inotify, int watch) => SystemCall.Result(inotify_rm_watch(inotify, watch));

    /// <summary><c>read(2)</c>: whole records of an inotify instance, or the eight bytes of an eventfd.</summary>
    public static int Read(int fd, Span<byte> bytes)
    {
        fixed (byte* pointer = bytes)
        {
            return (int)SystemCall.Result(read(fd, pointer, (nuint)bytes.Length));
        }
    }

    /// <summary><c>poll(2)</c>: how many have something; 0 when the time is over. Below zero waits for ever.</summary>
    public static int Poll(Span<PollRequest> requests, int timeoutMs)
    {
        fixed (PollRequest* pointer = requests)
        {
            return SystemCall.Result(poll(pointer, (nuint)requests.Length, timeoutMs));
        }
    }

    /// <summary>The target of a symlink: its bytes, cut where the buffer ends. EINVAL: it is no symlink.</summary>
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
