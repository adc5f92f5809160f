namespace Millrace.Interop.Tests;

/// <summary>Every constant, size and offset of the ABI with its name in C and its value.</summary>
internal static class AbiTable
{
    /// <summary>Members that have no counterpart in C: names given here to nothing at all.</summary>
    public static readonly string[] Ours =
    [
        "SetupFlags.None", "RingFeatures.None", "EnterFlags.None", "CqeFlags.None", "SqeFlags.None",
    ];

    public static readonly AbiEntry[] Constants =
    [
        new("Opcode.Nop", "IORING_OP_NOP", 0),
        new("Opcode.SendMessage", "IORING_OP_SENDMSG", 9),
        new("Opcode.Accept", "IORING_OP_ACCEPT", 13),
        new("Opcode.AsyncCancel", "IORING_OP_ASYNC_CANCEL", 14),
        new("Opcode.Read", "IORING_OP_READ", 22),
        new("Opcode.Send", "IORING_OP_SEND", 26),
        new("Opcode.Receive", "IORING_OP_RECV", 27),

        new("SetupFlags.SubmissionPolling", "IORING_SETUP_SQPOLL", 1 << 1),
        new("SetupFlags.CompletionQueueSize", "IORING_SETUP_CQSIZE", 1 << 3),
        new("SetupFlags.Clamp", "IORING_SETUP_CLAMP", 1 << 4),
        new("SetupFlags.AttachWorkQueue", "IORING_SETUP_ATTACH_WQ", 1 << 5),
        new("SetupFlags.StartDisabled", "IORING_SETUP_R_DISABLED", 1 << 6),
        new("SetupFlags.SubmitAll", "IORING_SETUP_SUBMIT_ALL", 1 << 7),
        new("SetupFlags.SingleIssuer", "IORING_SETUP_SINGLE_ISSUER", 1 << 12),
        new("SetupFlags.DeferTaskRun", "IORING_SETUP_DEFER_TASKRUN", 1 << 13),
        new("SetupFlags.NoSubmissionArray", "IORING_SETUP_NO_SQARRAY", 1 << 16, Since: "6.6"),

        new("RingFeatures.SingleMapping", "IORING_FEAT_SINGLE_MMAP", 1 << 0),
        new("RingFeatures.NoDrop", "IORING_FEAT_NODROP", 1 << 1),
        new("RingFeatures.SubmitStable", "IORING_FEAT_SUBMIT_STABLE", 1 << 2),
        new("RingFeatures.ExtendedArgument", "IORING_FEAT_EXT_ARG", 1 << 8),
        new("RingFeatures.NoIoWait", "IORING_FEAT_NO_IOWAIT", 1 << 17, Since: "6.15"),

        new("EnterFlags.GetEvents", "IORING_ENTER_GETEVENTS", 1 << 0),
        new("EnterFlags.ExtendedArgument", "IORING_ENTER_EXT_ARG", 1 << 3),
        new("EnterFlags.RegisteredRing", "IORING_ENTER_REGISTERED_RING", 1 << 4),
        new("EnterFlags.NoIoWait", "IORING_ENTER_NO_IOWAIT", 1 << 7, Since: "6.15"),

        new("CqeFlags.Buffer", "IORING_CQE_F_BUFFER", 1 << 0),
        new("CqeFlags.More", "IORING_CQE_F_MORE", 1 << 1),
        new("CqeFlags.SocketNonEmpty", "IORING_CQE_F_SOCK_NONEMPTY", 1 << 2),
        new("CqeFlags.Notification", "IORING_CQE_F_NOTIF", 1 << 3),

        new("SqeFlags.FixedFile", "IOSQE_FIXED_FILE", 1 << 0),
        new("SqeFlags.BufferSelect", "IOSQE_BUFFER_SELECT", 1 << 5),
        new("IoPriority.AcceptMultishot", "IORING_ACCEPT_MULTISHOT", 1 << 0),
        new("IoPriority.ReceivePollFirst", "IORING_RECVSEND_POLL_FIRST", 1 << 0),
        new("IoPriority.ReceiveMultishot", "IORING_RECV_MULTISHOT", 1 << 1),

        new("RegisterOpcode.IoWorkerLimits", "IORING_REGISTER_IOWQ_MAX_WORKERS", 19),
        new("RegisterOpcode.RingDescriptors", "IORING_REGISTER_RING_FDS", 20),
        new("RegisterOpcode.UnregisterRingDescriptors", "IORING_UNREGISTER_RING_FDS", 21),
        new("RegisterOpcode.BufferRing", "IORING_REGISTER_PBUF_RING", 22),
        new("RegisterOpcode.UnregisterBufferRing", "IORING_UNREGISTER_PBUF_RING", 23),
        new("ResourceUpdate.AnySlot", "-1U", uint.MaxValue),

        new("IoUringCalls.SetupNumber", "__NR_io_uring_setup", 425),
        new("IoUringCalls.EnterNumber", "__NR_io_uring_enter", 426),
        new("IoUringCalls.RegisterNumber", "__NR_io_uring_register", 427),
        new("IoUringCalls.MapSubmissionRing", "IORING_OFF_SQ_RING", 0),
        new("IoUringCalls.MapCompletionRing", "IORING_OFF_CQ_RING", 0x8000000),
        new("IoUringCalls.MapSubmissionEntries", "IORING_OFF_SQES", 0x10000000),

        new("MemoryCalls.ProtectionReadWrite", "PROT_READ | PROT_WRITE", 3),
        new("MemoryCalls.MapShared", "MAP_SHARED", 1),
        new("MemoryCalls.MapPrivate", "MAP_PRIVATE", 2),
        new("MemoryCalls.MapAnonymous", "MAP_ANONYMOUS", 0x20),
        new("MemoryCalls.MapPopulate", "MAP_POPULATE", 0x8000),
        new("MemoryCalls.AdviceDontFork", "MADV_DONTFORK", 10),

        new("AddressFamilyNumber.Unix", "AF_UNIX", 1),
        new("AddressFamilyNumber.InterNetwork", "AF_INET", 2),
        new("AddressFamilyNumber.InterNetworkV6", "AF_INET6", 10),
        new("SocketTypeNumber.Stream", "SOCK_STREAM", 1),
        new("SocketTypeNumber.NonBlocking", "SOCK_NONBLOCK", 0x800),
        new("SocketTypeNumber.CloseOnExec", "SOCK_CLOEXEC", 0x80000),
        new("SocketOptionNumber.LevelSocket", "SOL_SOCKET", 1),
        new("SocketOptionNumber.ReuseAddress", "SO_REUSEADDR", 2),
        new("SocketOptionNumber.Linger", "SO_LINGER", 13),
        new("SocketOptionNumber.ReusePort", "SO_REUSEPORT", 15),
        new("SocketOptionNumber.LevelTcp", "IPPROTO_TCP", 6),
        new("SocketOptionNumber.NoDelay", "TCP_NODELAY", 1),
        new("SocketOptionNumber.TcpInfo", "TCP_INFO", 11),
        new("SocketOptionNumber.NotSentLowWater", "TCP_NOTSENT_LOWAT", 25),
        new("SocketOptionNumber.LevelIPv6", "IPPROTO_IPV6", 41),
        new("SocketOptionNumber.IPv6Only", "IPV6_V6ONLY", 26),
        new("MessageFlags.WaitAll", "MSG_WAITALL", 0x100),
        new("MessageFlags.NoSignal", "MSG_NOSIGNAL", 0x4000),
        new("ShutdownHow.Send", "SHUT_WR", 1),
        new("ShutdownHow.Both", "SHUT_RDWR", 2),
    ];

    /// <summary>Constants inside methods, where reflection cannot see them; their use is tested, their equals in C are here.</summary>
    public static readonly AbiEntry[] Assumptions =
    [
        new("SocketCalls.UnacknowledgedBytes.SiocOutQ", "SIOCOUTQ", 0x5411),
        new("SocketCalls.SetNonBlocking.SetFlags", "F_SETFL", 4),
        new("SocketCalls.SetNonBlocking.ReadWrite", "O_RDWR", 2),
        new("SocketCalls.SetNonBlocking.NonBlocking", "O_NONBLOCK", 0x800),
        new("SocketCalls.EventDescriptor.CloseOnExec", "EFD_CLOEXEC", 0x80000),
        new("SocketCalls.SetResetOnClose.Bytes", "sizeof(struct linger)", 8),
        new("SocketCalls.SetResetOnClose.On", "offsetof(struct linger, l_onoff)", 0),
        new("SocketProgress.BytesAckedOffset", "offsetof(struct tcp_info, tcpi_bytes_acked)", 120),
        new("BufferRing.TailOffset", "offsetof(struct io_uring_buf_ring, tail)", 14),
    ];

    /// <summary>Structs by name; members as field here, field in C, offset.</summary>
    public static readonly (string Type, string C, int Bytes, (string Field, string C, int Offset)[] Fields)[] Structs =
    [
        ("Sqe", "struct io_uring_sqe", 64,
        [
            ("Opcode", "opcode", 0), ("Flags", "flags", 1), ("IoPriority", "ioprio", 2), ("Fd", "fd", 4), ("Offset", "off", 8),
            ("Address", "addr", 16), ("Length", "len", 24), ("OperationFlags", "msg_flags", 28), ("UserData", "user_data", 32),
            ("BufferGroup", "buf_group", 40), ("Personality", "personality", 42), ("FileIndex", "file_index", 44),
            ("Address3", "addr3", 48), ("Padding", "__pad2", 56),
        ]),
        ("Cqe", "struct io_uring_cqe", 16, [("UserData", "user_data", 0), ("Result", "res", 8), ("Flags", "flags", 12)]),
        ("RingParameters", "struct io_uring_params", 120,
        [
            ("SubmissionEntries", "sq_entries", 0), ("CompletionEntries", "cq_entries", 4), ("Flags", "flags", 8),
            ("SubmissionThreadCpu", "sq_thread_cpu", 12), ("SubmissionThreadIdleMs", "sq_thread_idle", 16), ("Features", "features", 20),
            ("WorkQueueFd", "wq_fd", 24), ("Reserved0", "resv", 28), ("Reserved1", "resv[1]", 32), ("Reserved2", "resv[2]", 36),
            ("Submission", "sq_off", 40), ("Completion", "cq_off", 80),
        ]),
        ("SubmissionOffsets", "struct io_sqring_offsets", 40,
        [
            ("Head", "head", 0), ("Tail", "tail", 4), ("RingMask", "ring_mask", 8), ("RingEntries", "ring_entries", 12),
            ("Flags", "flags", 16), ("Dropped", "dropped", 20), ("Array", "array", 24), ("Reserved", "resv1", 28),
            // resv2 became user_addr in 6.5, at the same place.
            ("UserAddress", "", 32),
        ]),
        ("CompletionOffsets", "struct io_cqring_offsets", 40,
        [
            ("Head", "head", 0), ("Tail", "tail", 4), ("RingMask", "ring_mask", 8), ("RingEntries", "ring_entries", 12),
            ("Overflow", "overflow", 16), ("Entries", "cqes", 20), ("Flags", "flags", 24),
            ("Reserved", "resv1", 28), ("UserAddress", "", 32),
        ]),
        ("BufferRingRegistration", "struct io_uring_buf_reg", 40,
        [
            ("RingAddress", "ring_addr", 0), ("RingEntries", "ring_entries", 8), ("BufferGroup", "bgid", 12),
            // pad became flags in 6.4.
            ("Flags", "", 14),
            ("Reserved0", "resv", 16), ("Reserved1", "resv[1]", 24), ("Reserved2", "resv[2]", 32),
        ]),
        ("ProvidedBuffer", "struct io_uring_buf", 16,
            [("Address", "addr", 0), ("Length", "len", 8), ("BufferId", "bid", 12), ("TailInSlotZero", "resv", 14)]),
        ("ResourceUpdate", "struct io_uring_rsrc_update", 16, [("Offset", "offset", 0), ("Reserved", "resv", 4), ("Data", "data", 8)]),
        ("GetEventsArgument", "struct io_uring_getevents_arg", 24,
        [
            // pad became min_wait_usec in 6.12.
            ("SignalMask", "sigmask", 0), ("SignalMaskBytes", "sigmask_sz", 8), ("MinWaitUs", "", 12), ("Timeout", "ts", 16),
        ]),
        ("KernelTimespec", "struct __kernel_timespec", 16, [("Seconds", "tv_sec", 0), ("Nanoseconds", "tv_nsec", 8)]),
        ("IoVector", "struct iovec", 16, [("Address", "iov_base", 0), ("Bytes", "iov_len", 8)]),
        ("MessageHeader", "struct msghdr", 56,
        [
            ("Name", "msg_name", 0), ("NameBytes", "msg_namelen", 8), ("Vectors", "msg_iov", 16), ("VectorCount", "msg_iovlen", 24),
            ("Control", "msg_control", 32), ("ControlBytes", "msg_controllen", 40), ("Flags", "msg_flags", 48),
        ]),
    ];

    /// <summary>asm-generic/errno-base.h and errno.h, which x64 and arm64 share.</summary>
    public const string Errnos = """
        EPERM=1 ENOENT=2 ESRCH=3 EINTR=4 EIO=5 ENXIO=6 E2BIG=7 ENOEXEC=8 EBADF=9 ECHILD=10 EAGAIN=11 ENOMEM=12 EACCES=13
        EFAULT=14 ENOTBLK=15 EBUSY=16 EEXIST=17 EXDEV=18 ENODEV=19 ENOTDIR=20 EISDIR=21 EINVAL=22 ENFILE=23 EMFILE=24 ENOTTY=25
        ETXTBSY=26 EFBIG=27 ENOSPC=28 ESPIPE=29 EROFS=30 EMLINK=31 EPIPE=32 EDOM=33 ERANGE=34 EDEADLK=35 ENAMETOOLONG=36
        ENOLCK=37 ENOSYS=38 ENOTEMPTY=39 ELOOP=40 ENOMSG=42 EIDRM=43 ECHRNG=44 EL2NSYNC=45 EL3HLT=46 EL3RST=47 ELNRNG=48
        EUNATCH=49 ENOCSI=50 EL2HLT=51 EBADE=52 EBADR=53 EXFULL=54 ENOANO=55 EBADRQC=56 EBADSLT=57 EBFONT=59 ENOSTR=60
        ENODATA=61 ETIME=62 ENOSR=63 ENONET=64 ENOPKG=65 EREMOTE=66 ENOLINK=67 EADV=68 ESRMNT=69 ECOMM=70 EPROTO=71
        EMULTIHOP=72 EDOTDOT=73 EBADMSG=74 EOVERFLOW=75 ENOTUNIQ=76 EBADFD=77 EREMCHG=78 ELIBACC=79 ELIBBAD=80 ELIBSCN=81
        ELIBMAX=82 ELIBEXEC=83 EILSEQ=84 ERESTART=85 ESTRPIPE=86 EUSERS=87 ENOTSOCK=88 EDESTADDRREQ=89 EMSGSIZE=90
        EPROTOTYPE=91 ENOPROTOOPT=92 EPROTONOSUPPORT=93 ESOCKTNOSUPPORT=94 EOPNOTSUPP=95 EPFNOSUPPORT=96 EAFNOSUPPORT=97
        EADDRINUSE=98 EADDRNOTAVAIL=99 ENETDOWN=100 ENETUNREACH=101 ENETRESET=102 ECONNABORTED=103 ECONNRESET=104 ENOBUFS=105
        EISCONN=106 ENOTCONN=107 ESHUTDOWN=108 ETOOMANYREFS=109 ETIMEDOUT=110 ECONNREFUSED=111 EHOSTDOWN=112 EHOSTUNREACH=113
        EALREADY=114 EINPROGRESS=115 ESTALE=116 EUCLEAN=117 ENOTNAM=118 ENAVAIL=119 EISNAM=120 EREMOTEIO=121 EDQUOT=122
        ENOMEDIUM=123 EMEDIUMTYPE=124 ECANCELED=125 ENOKEY=126 EKEYEXPIRED=127 EKEYREVOKED=128 EKEYREJECTED=129 EOWNERDEAD=130
        ENOTRECOVERABLE=131 ERFKILL=132 EHWPOISON=133
        """;
}
