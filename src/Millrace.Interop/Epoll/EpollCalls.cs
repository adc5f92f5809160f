using System.Runtime.InteropServices;

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

    /// <summary>A descriptor of an epoll instance.</summary>
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
