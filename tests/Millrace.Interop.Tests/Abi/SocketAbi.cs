namespace Millrace.Interop.Tests.Abi;

/// <summary>sys/socket.h, fcntl.h, netinet/in.h, linux/tcp.h, linux/bpf.h, sys/mman.h and errno.h.</summary>
internal static class SocketAbi
{
    public static AbiEntry[] Structures =>
    [
        ("IoVector", "sizeof(struct iovec)", 16),
        ("IoVector.Address", "offsetof(struct iovec, iov_base)", 0),
        ("IoVector.Bytes", "offsetof(struct iovec, iov_len)", 8),
        ("MessageHeader", "sizeof(struct msghdr)", 56),
        ("MessageHeader.Name", "offsetof(struct msghdr, msg_name)", 0),
        ("MessageHeader.NameBytes", "offsetof(struct msghdr, msg_namelen)", 8),
        ("MessageHeader.Vectors", "offsetof(struct msghdr, msg_iov)", 16),
        ("MessageHeader.VectorCount", "offsetof(struct msghdr, msg_iovlen)", 24),
        ("MessageHeader.Control", "offsetof(struct msghdr, msg_control)", 32),
        ("MessageHeader.ControlBytes", "offsetof(struct msghdr, msg_controllen)", 40),
        ("MessageHeader.Flags", "offsetof(struct msghdr, msg_flags)", 48),

        // The kernel's build asserts that its own, which no header for programs has beside struct tcp_info, is the same.
        ("SocketProgress.Closed", "BPF_TCP_CLOSE", 7),
        ("SocketProgress.BytesAckedOffset", "offsetof(struct tcp_info, tcpi_bytes_acked)", 120),
    ];

    public static AbiEntry[] Constants =>
    [
        ("AddressFamilyNumber.Unix", "AF_UNIX", 1),
        ("AddressFamilyNumber.InterNetwork", "AF_INET", 2),
        ("AddressFamilyNumber.InterNetworkV6", "AF_INET6", 10),
        ("SocketTypeNumber.Stream", "SOCK_STREAM", 1),
        ("SocketTypeNumber.Datagram", "SOCK_DGRAM", 2),
        ("SocketTypeNumber.NonBlocking", "SOCK_NONBLOCK", 0x800),
        ("SocketTypeNumber.CloseOnExec", "SOCK_CLOEXEC", 0x80000),
        ("SocketTypeNumber.OfConnections", "SOCK_CLOEXEC | SOCK_NONBLOCK", 0x80800),
        ("SocketOptionNumber.LevelSocket", "SOL_SOCKET", 1),
        ("SocketOptionNumber.ReuseAddress", "SO_REUSEADDR", 2),
        ("SocketOptionNumber.Error", "SO_ERROR", 4),
        ("SocketOptionNumber.Linger", "SO_LINGER", 13),
        ("SocketOptionNumber.ReusePort", "SO_REUSEPORT", 15),
        ("SocketOptionNumber.ReceiveTimeout", "SO_RCVTIMEO", 20),
        ("SocketOptionNumber.BindToInterface", "SO_BINDTOIFINDEX", 62),
        ("SocketOptionNumber.PeerName", "SO_PEERNAME", 28),
        ("SocketOptionNumber.Domain", "SO_DOMAIN", 39),
        ("SocketOptionNumber.LevelTcp", "IPPROTO_TCP", 6),
        ("SocketOptionNumber.NoDelay", "TCP_NODELAY", 1),
        ("SocketOptionNumber.TcpInfo", "TCP_INFO", 11),
        ("SocketOptionNumber.CongestionControl", "TCP_CONGESTION", 13),
        ("SocketOptionNumber.NotSentLowWater", "TCP_NOTSENT_LOWAT", 25),
        ("SocketOptionNumber.LevelIPv6", "IPPROTO_IPV6", 41),
        ("SocketOptionNumber.IPv6Only", "IPV6_V6ONLY", 26),
        ("MessageFlags.DoNotWait", "MSG_DONTWAIT", 0x40),
        ("MessageFlags.WaitAll", "MSG_WAITALL", 0x100),
        ("MessageFlags.NoSignal", "MSG_NOSIGNAL", 0x4000),
        ("MessageFlags.More", "MSG_MORE", 0x8000),
        ("SplicePipe.NonBlocking", "O_NONBLOCK", 0x800),
        ("SplicePipe.CloseOnExec", "O_CLOEXEC", 0x80000),
        ("SplicePipe.SetSize", "F_SETPIPE_SZ", 1031),
        ("SplicePipe.MoreFollows", "SPLICE_F_MORE", 4),
        ("SplicePipe.MoveWithoutWait", "SPLICE_F_MOVE | SPLICE_F_NONBLOCK", 3),
        ("ShutdownHow.Send", "SHUT_WR", 1),
        ("ShutdownHow.Both", "SHUT_RDWR", 2),
        ("MemoryCalls.ProtectionReadWrite", "PROT_READ | PROT_WRITE", 3),
        ("MemoryCalls.MapShared", "MAP_SHARED", 1),
        ("MemoryCalls.MapPrivate", "MAP_PRIVATE", 2),
        ("MemoryCalls.MapAnonymous", "MAP_ANONYMOUS", 0x20),
        ("MemoryCalls.MapPopulate", "MAP_POPULATE", 0x8000),
        ("MemoryCalls.AdviceDontNeed", "MADV_DONTNEED", 4),
        ("MemoryCalls.AdviceDontFork", "MADV_DONTFORK", 10),
        ("MemoryCalls.MemoryFileCloseOnExec", "MFD_CLOEXEC", 1),
        ("MemoryCalls.MemoryFileNotExecutable", "MFD_NOEXEC_SEAL", 8, "6.3"),
    ];

    /// <summary>An error is called as in C.</summary>
    public static AbiEntry[] Errors =>
    [
        .. from error in new (string Name, long Value)[]
           {
               ("EPERM", 1), ("ENOENT", 2), ("ESRCH", 3), ("EINTR", 4), ("EIO", 5), ("ENXIO", 6), ("EBADF", 9), ("EAGAIN", 11),
               ("ENOMEM", 12),
               ("EACCES", 13), ("EFAULT", 14), ("EBUSY", 16), ("EEXIST", 17), ("EXDEV", 18), ("ENOTDIR", 20), ("EISDIR", 21),
               ("EINVAL", 22), ("ENFILE", 23), ("EMFILE", 24), ("ENOSPC", 28), ("EPIPE", 32), ("ENAMETOOLONG", 36), ("ENOSYS", 38),
               ("ELOOP", 40), ("EBADR", 53), ("ETIME", 62), ("ENONET", 64),
               ("EPROTO", 71), ("EMSGSIZE", 90), ("ENOPROTOOPT", 92), ("EOPNOTSUPP", 95), ("EAFNOSUPPORT", 97), ("EADDRINUSE", 98),
               ("EADDRNOTAVAIL", 99), ("ENETDOWN", 100), ("ENETUNREACH", 101), ("ECONNABORTED", 103), ("ECONNRESET", 104),
               ("ENOBUFS", 105), ("ENOTCONN", 107), ("ETIMEDOUT", 110), ("ECONNREFUSED", 111), ("EHOSTDOWN", 112),
               ("EHOSTUNREACH", 113), ("EINPROGRESS", 115), ("ECANCELED", 125),
           }
           select new AbiEntry($"Errno.{error.Name}", error.Name, error.Value),
    ];
}
