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

    /// <summary>Watches a descriptor: 0. ENOSPC: the user's fs.epoll.max_user_watches are taken.</summary>
    public static int Add(int epoll, int fd, EpollEventMask mask, ulong data) => Control(epoll, ControlAdd, fd, mask, data);

    /// <summary>Watches it for other events, and tells of those that are there already: 0.</summary>
    public static int Modify(int epoll, int fd, EpollEventMask mask, ulong data) => Control(epoll, ControlModify, fd, mask, data);

    /// <summary>Watches it no more: 0. A close does the same, unless there are other descriptors of the same socket.</summary>
    public static int Remove(int epoll, int fd) => Control(epoll, ControlDelete, fd, default, 0);

    /// <summary><c>epoll_wait(2)</c>: how many events were written; 0 when the time is over. Below zero waits for ever.</summary>
    public static int Wait(int epoll, EpollEvents events, int timeoutMs) =>
        SystemCall.Result(epoll_wait(epoll, events.Address, events.Capacity, timeoutMs));

    /// <summary>
    /// Has a wait look at the network device itself for so many microseconds (<c>EPIOCSPARAMS</c>, 6.9): 0. The kernel's own number of
    /// packets at a time is left as it is. ENOTTY: an older kernel. EOPNOTSUPP: it was built without.
    /// </summary>
    public static int SetBusyPolling(int epoll, int timeUs, bool prefers)
    {
        const nuint SetParameters = 0x4008_8A01;
        const int PrefersShift = 48;

        // struct epoll_params: 32 bits of time, 16 of packets (0: as ever), 8 of preference, 8 of padding.
        ulong parameters = (uint)timeUs | (prefers ? 1UL << PrefersShift : 0);
        return SystemCall.Result(ioctl(epoll, SetParameters, &parameters));
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
    private static partial int ioctl(int fd, nuint request, void* argument);

    [LibraryImport("libc")]
    private static partial int epoll_wait(int epoll, void* entries, int capacity, int timeoutMs);
}
