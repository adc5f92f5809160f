using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop.IoUring;

namespace Millrace.Interop.Epoll;

/// <summary>The system calls of epoll. All return -errno on failure.</summary>
internal static unsafe partial class EpollCalls
{
    /// <summary><c>EPOLL_CLOEXEC</c>.</summary>
    private const int CloseOnExec = 0x80000;

    /// <summary><c>EPOLL_CTL_ADD</c>, <c>EPOLL_CTL_DEL</c> and <c>EPOLL_CTL_MOD</c>.</summary>
    private const int ControlAdd = 1;
    private const int ControlDelete = 2;
    private const int ControlModify = 3;

    private const int WaitFineNumber = 441;

    public static int Create() => SystemCall.Result(epoll_create1(CloseOnExec));

    /// <summary>Adds a descriptor: 0. ENOSPC: the limit fs.epoll.max_user_watches is reached.</summary>
    public static int Add(int epoll, int fd, EpollEventMask mask, ulong data) => Control(epoll, ControlAdd, fd, mask, data);

    /// <summary>Changes a descriptor's events, and reports those that are already present: 0.</summary>
    public static int Modify(int epoll, int fd, EpollEventMask mask, ulong data) => Control(epoll, ControlModify, fd, mask, data);

    /// <summary>Removes a descriptor: 0. A close does the same, unless there are other descriptors of the same socket.</summary>
    public static int Remove(int epoll, int fd) => Control(epoll, ControlDelete, fd, default, 0);

    /// <summary><c>epoll_wait(2)</c>: how many events were written; 0 after the timeout. A negative timeout waits without limit.</summary>
    public static int Wait(int epoll, EpollEvents events, int timeoutMs) =>
        SystemCall.Result(epoll_wait(epoll, events.Address, events.Capacity, timeoutMs));

    /// <summary>
    /// <c>epoll_pwait2(2)</c>, from Linux 5.11 on: the same with a timeout in nanoseconds. ENOSYS, or EPERM of a filter: it is not there.
    /// </summary>
    public static int WaitFine(int epoll, EpollEvents events, long timeoutNs)
    {
        var timeout = new KernelTimespec { Seconds = timeoutNs / 1_000_000_000, Nanoseconds = timeoutNs % 1_000_000_000 };
        return SystemCall.Invoke(WaitFineNumber, epoll, (nint)events.Address, events.Capacity, (nint)(&timeout));
    }

    private static int Control(int epoll, int operation, int fd, EpollEventMask mask, ulong data)
    {
        byte* entry = stackalloc byte[EpollEvents.EntryBytesMax];
        EpollEvents.Write(entry, mask, data);
        return SystemCall.Result(epoll_ctl(epoll, operation, fd, entry));
    }

    [LibraryImport("libc")]
    private static partial int epoll_create1(int flags);

    [LibraryImport("libc")]
    private static partial int epoll_ctl(int epoll, int operation, int fd, void* entry);

    [LibraryImport("libc")]
    private static partial int epoll_wait(int epoll, void* entries, int capacity, int timeoutMs);
}

/// <summary>
/// The buffer for the events of one wait: an array of <c>struct epoll_event</c>, which the kernel packs on x64 (12 bytes) and not on arm64
/// (16, with the data at 8). The owner disposes it.
/// </summary>
internal sealed unsafe class EpollEvents(int capacity) : IDisposable
{
    public const int EntryBytesMax = 16;

    private static readonly int EntryBytes = EntryBytesOn(RuntimeInformation.ProcessArchitecture);
    private static readonly int DataOffset = EntryBytes - sizeof(ulong);

    private readonly byte* _entries = (byte*)NativeMemory.AllocZeroed((nuint)capacity, (nuint)EntryBytes);

    public int Capacity { get; } = capacity;

    public void* Address => _entries;

    public EpollEventMask MaskOf(int index) => *(EpollEventMask*)(_entries + (index * EntryBytes));

    public ulong DataOf(int index) => Unsafe.ReadUnaligned<ulong>(_entries + (index * EntryBytes) + DataOffset);

    public void Dispose() => NativeMemory.Free(_entries);

    internal static int EntryBytesOn(Architecture architecture) => SystemCall.On(architecture, x64: 12, arm64: 16);

    internal static void Write(byte* entry, EpollEventMask mask, ulong data)
    {
        *(EpollEventMask*)entry = mask;
        Unsafe.WriteUnaligned(entry + DataOffset, data);
    }
}

/// <summary><c>EPOLL*</c>: the events to report, and those reported.</summary>
[Flags]
internal enum EpollEventMask : uint
{
    None = 0,
    Readable = 0x1,

    /// <summary>Urgent bytes, at whose mark a receive stops short.</summary>
    Priority = 0x2,
    Writable = 0x4,
    Error = 0x8,
    HangUp = 0x10,

    PeerHangUp = 0x2000,
    EdgeTriggered = 1u << 31,
}
