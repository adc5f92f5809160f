namespace Millrace.Interop.Tests.Abi;

/// <summary>sys/epoll.h. Its one structure is laid out by hand, see <see cref="Calls.EpollCallsTests"/>.</summary>
internal static class EpollAbi
{
    public static AbiEntry[] Constants =>
    [
        ("EpollCalls.CloseOnExec", "EPOLL_CLOEXEC", 0x80000),
        ("EpollCalls.ControlAdd", "EPOLL_CTL_ADD", 1),
        ("EpollCalls.ControlDelete", "EPOLL_CTL_DEL", 2),
        ("EpollCalls.ControlModify", "EPOLL_CTL_MOD", 3),
        ("EpollCalls.WaitFineNumber", "SYS_epoll_pwait2", 441),
        ("EpollEventMask.Readable", "EPOLLIN", 0x1),
        ("EpollEventMask.Priority", "EPOLLPRI", 0x2),
        ("EpollEventMask.Writable", "EPOLLOUT", 0x4),
        ("EpollEventMask.Error", "EPOLLERR", 0x8),
        ("EpollEventMask.HangUp", "EPOLLHUP", 0x10),
        ("EpollEventMask.PeerHangUp", "EPOLLRDHUP", 0x2000),
        ("EpollEventMask.EdgeTriggered", "EPOLLET", 0x80000000),
        ("EpollEvents.EntryBytesMax", "sizeof(struct epoll_event) > 16 ? sizeof(struct epoll_event) : 16", 16),
    ];
}
