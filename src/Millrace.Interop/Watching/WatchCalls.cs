using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary>
/// The system calls of inotify, and those to find out what a path passes through. All return -errno on failure; paths and names end with a
/// zero byte.
/// </summary>
internal static partial class WatchCalls
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
        return SystemCall.Result(inotify_add_watch(inotify, pathZ, (uint)mask));
    }

    /// <summary>Removes a watch: 0. EINVAL if the kernel has removed it already. A record with IN_IGNORED follows.</summary>
    public static int RemoveWatch(int inotify, int watch) => SystemCall.Result(inotify_rm_watch(inotify, watch));

    /// <summary><c>read(2)</c>: whole records of an inotify instance, or the eight bytes of an eventfd.</summary>
    public static int Read(int fd, Span<byte> bytes) => (int)SystemCall.Result(read(fd, bytes, (nuint)bytes.Length));

    /// <summary><c>poll(2)</c>: how many descriptors have events; 0 after the timeout. A negative timeout waits without limit.</summary>
    public static int Poll(Span<PollRequest> requests, int timeoutMs) =>
        SystemCall.Result(poll(requests, (nuint)requests.Length, timeoutMs));

    /// <summary>The target of a symlink, truncated to the buffer. EINVAL: not a symlink.</summary>
    public static int ReadLink(int directoryFd, ReadOnlySpan<byte> nameZ, Span<byte> target)
    {
        Debug.Assert(!nameZ.IsEmpty && nameZ[^1] == 0, "a name ends with a zero byte");
        return (int)SystemCall.Result(readlinkat(directoryFd, nameZ, target, (nuint)target.Length));
    }

    /// <summary><c>fstatfs(2)</c>: 0.</summary>
    public static int GetFileSystem(int fd, out FileSystemStatus status) => SystemCall.Result(fstatfs(fd, out status));

    [LibraryImport("libc")]
    private static partial int inotify_init1(int flags);

    [LibraryImport("libc")]
    private static partial int inotify_add_watch(int fd, ReadOnlySpan<byte> path, uint mask);

    [LibraryImport("libc")]
    private static partial int inotify_rm_watch(int fd, int watch);

    [LibraryImport("libc")]
    private static partial nint read(int fd, Span<byte> bytes, nuint count);

    [LibraryImport("libc")]
    private static partial int poll(Span<PollRequest> requests, nuint requestCount, int timeoutMs);

    [LibraryImport("libc")]
    private static partial nint readlinkat(int directoryFd, ReadOnlySpan<byte> path, Span<byte> target, nuint targetBytes);

    [LibraryImport("libc")]
    private static partial int fstatfs(int fd, out FileSystemStatus status);
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

/// <summary>Enumerates the records of one read of an inotify descriptor. Names refer to the buffer.</summary>
internal ref struct InotifyEvents(ReadOnlySpan<byte> records)
{
    /// <summary>One record with the longest name (NAME_MAX is 255): a shorter read buffer gives EINVAL.</summary>
    public const int RecordBytesMax = 16 + 256;

    private ReadOnlySpan<byte> _remaining = records;

    public InotifyEvent Current { get; private set; }

    /// <summary>The entry in the watched directory; empty if the event is about the directory itself.</summary>
    public ReadOnlySpan<byte> Name { get; private set; }

    public bool MoveNext()
    {
        if (_remaining.IsEmpty)
        {
            return false;
        }

        Current = MemoryMarshal.Read<InotifyEvent>(_remaining);
        ReadOnlySpan<byte> name = _remaining.Slice(Unsafe.SizeOf<InotifyEvent>(), (int)Current.NameBytes);
        // The kernel pads with zeros so that the next record is aligned.
        int end = name.IndexOf((byte)0);
        Name = end < 0 ? name : name[..end];
        _remaining = _remaining[(Unsafe.SizeOf<InotifyEvent>() + name.Length)..];
        return true;
    }
}

/// <summary><c>struct inotify_event</c>: the header of a record; <see cref="NameBytes"/> of name and zeros follow.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct InotifyEvent
{
    /// <summary>The watch; -1 if the queue overflowed.</summary>
    public int Watch;
    public WatchMask Mask;
    public uint Cookie;
    public uint NameBytes;
}

/// <summary>The <c>IN_*</c> bits of <c>inotify(7)</c>: the events of a watch, how it is added, and the event of a record.</summary>
[Flags]
internal enum WatchMask : uint
{
    None = 0,
    Modify = 0x2,
    Attributes = 0x4,
    CloseWrite = 0x8,
    MovedFrom = 0x40,
    MovedTo = 0x80,
    Create = 0x100,
    Delete = 0x200,
    DeleteSelf = 0x400,
    MoveSelf = 0x800,

    /// <summary>Only in records, requested or not: the file system was unmounted, the queue overflowed, the watch was removed.</summary>
    Unmount = 0x2000,
    QueueOverflow = 0x4000,
    Ignored = 0x8000,

    /// <summary>How to add a watch: only on a directory; without events of unlinked files; added to an existing watch's events.</summary>
    OnlyDirectory = 0x1000000,
    ExcludeUnlinked = 0x4000000,
    Add = 0x20000000,

    /// <summary>Only in records: the subject is a directory.</summary>
    IsDirectory = 0x40000000,
}

/// <summary><c>struct statfs</c> on 64-bit machines; only the used field.</summary>
[StructLayout(LayoutKind.Explicit, Size = 120)]
internal struct FileSystemStatus
{
    [FieldOffset(0)] public FileSystemMagic Magic;
}

/// <summary>
/// Kinds of file systems as <c>statfs(2)</c> reports them (linux/magic.h). Only those whose content changes without this kernel's
/// involvement, so that inotify reports nothing: shared over a network or between machines, maintained by another process, or generated by
/// the kernel.
/// </summary>
internal enum FileSystemMagic : long
{
    Nfs = 0x6969,
    Smb = 0x517b,
    Smb2 = 0xfe534d42,
    Cifs = 0xff534d42,
    Ncp = 0x564c,
    Afs = 0x5346414f,
    KernelAfs = 0x6b414653,
    Coda = 0x73757245,
    Ceph = 0x00c36400,

    /// <summary>Also virtiofs, sshfs, rclone, GlusterFS, and the shared folders of Docker Desktop.</summary>
    Fuse = 0x65735546,

    /// <summary>9p: shared folders of QEMU, gVisor and WSL.</summary>
    Plan9 = 0x01021997,
    HostFs = 0x00c0ffee,

    /// <summary>Cluster file systems: each node's kernel knows only its own writes.</summary>
    Gfs2 = 0x01161970,
    Ocfs2 = 0x7461636f,

    /// <summary>Not in the kernel's tree, or removed from it: no header defines these.</summary>
    Lustre = 0x0bd00bd0,
    Gpfs = 0x47504653,
    BeeGfs = 0x19830326,
    PanFs = 0xaad7aaea,
    StorNext = 0xbeefdead,
    OrangeFs = 0x20030528,
    VirtualBoxShared = 0x786f4256,
    VMwareShared = 0xbacbacbc,
    ParallelsShared = 0x7c7c6673,

    /// <summary>Generated by the kernel when read.</summary>
    Proc = 0x9fa0,
    Sysfs = 0x62656572,
    Cgroup = 0x0027e0eb,
    Cgroup2 = 0x63677270,
    DebugFs = 0x64626720,
    TraceFs = 0x74726163,
    ConfigFs = 0x62656570,
    SecurityFs = 0x73636673,
    EfiVarFs = 0xde5e81e4,
    ResCtrl = 0x07655821,
}
