using System.Runtime.InteropServices;
using Millrace.Interop.Files;
using Millrace.Interop.Seccomp;

namespace Millrace.Interop.Sockets;

/// <summary>Socket calls that need no ring operation: set-up, options and close. All return -errno on failure.</summary>
internal static unsafe partial class SocketCalls
{
    /// <summary>A socket that is not inherited by child processes.</summary>
    public static int Socket(int family, int type) =>
        SystemCall.Result(socket(family, type | SocketTypeNumber.CloseOnExec, 0));

    public static int Bind(int fd, ReadOnlySpan<byte> address) => SystemCall.Result(bind(fd, address, (uint)address.Length));

    public static int Connect(int fd, ReadOnlySpan<byte> address) => SystemCall.Result(connect(fd, address, (uint)address.Length));

    public static int Listen(int fd, int backlog) => SystemCall.Result(listen(fd, backlog));

    /// <summary>Accepts, without blocking if the listener is non-blocking; the connection is non-blocking and close-on-exec.</summary>
    public static int Accept(int fd) => SystemCall.Result(accept4(fd, null, null, SocketTypeNumber.OfConnections));

    public static int Shutdown(int fd, int how) => SystemCall.Result(shutdown(fd, how));

    /// <summary>Never retry on EINTR: Linux has closed the descriptor by then.</summary>
    public static int Close(int fd) => SystemCall.Result(close(fd));

    public static int SetOption(int fd, int level, int name, int value) =>
        SystemCall.Result(setsockopt(fd, level, name, &value, sizeof(int)));

    /// <summary>Sets an option whose value is not a number.</summary>
    public static int SetOption(int fd, int level, int name, ReadOnlySpan<byte> value)
    {
        fixed (byte* pointer = value)
        {
            return SystemCall.Result(setsockopt(fd, level, name, pointer, (uint)value.Length));
        }
    }

    /// <summary>The next close sends a reset and discards what is unsent (<c>SO_LINGER</c> on, 0 s).</summary>
    public static int SetResetOnClose(int fd)
    {
        long onZeroSeconds = 1;
        return SystemCall.Result(setsockopt(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.Linger, &onZeroSeconds, sizeof(long)));
    }

    /// <summary>
    /// Calls that block for input, or for a connection, end with -EAGAIN after this time; non-blocking calls are not affected.
    /// </summary>
    public static int SetReceiveTimeout(int fd, int milliseconds)
    {
        const int MicrosecondsPerMillisecond = 1_000;
        long* secondsAndMicroseconds = stackalloc long[] { milliseconds / 1_000, milliseconds % 1_000 * MicrosecondsPerMillisecond };
        return SystemCall.Result(setsockopt(
            fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveTimeout, secondsAndMicroseconds, 2 * sizeof(long)));
    }

    /// <summary>
    /// New clients of a listening TCP socket reach another listener of their address, such as one of all addresses, or are refused.
    /// Handshakes under way complete, and its queue stays. Once for a socket, without CAP_NET_RAW (Linux 5.7).
    /// </summary>
    public static int EndConnects(int listenSocket) =>
        // The kernel looks for listeners of the SYN's interface. The other segments of a handshake belong to its own entry, which has that
        // of the SYN. It accepts the index of an interface that does not exist.
        SetOption(listenSocket, SocketOptionNumber.LevelSocket, SocketOptionNumber.BindToInterface, int.MaxValue);

    /// <summary>
    /// Lets a program choose which of the sockets that share a UDP port (SO_REUSEPORT, in the order of their binds) gets a datagram: it
    /// reads the datagram's bytes and returns an index; with one beyond the last socket the kernel chooses.
    /// </summary>
    public static int AttachSelector(int fd, ReadOnlySpan<FilterInstruction> program)
    {
        fixed (FilterInstruction* instructions = program)
        {
            var description = new ProgramDescription { Count = (ushort)program.Length, Instructions = instructions };
            return SystemCall.Result(setsockopt(
                fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.AttachSelector, &description, (uint)sizeof(ProgramDescription)));
        }
    }

    /// <summary>Writes <paramref name="value"/> and returns how many bytes of it are valid.</summary>
    public static int GetOption(int fd, int level, int name, Span<byte> value)
    {
        uint bytes = (uint)value.Length;
        int result = SystemCall.Result(getsockopt(fd, level, name, value, ref bytes));
        return result < 0 ? result : (int)bytes;
    }

    /// <summary>Writes the local address and returns its length.</summary>
    public static int LocalAddress(int fd, Span<byte> address)
    {
        uint bytes = (uint)address.Length;
        int result = SystemCall.Result(getsockname(fd, address, ref bytes));
        return result < 0 ? result : (int)bytes;
    }

    /// <summary>Writes the peer's address and returns its length, also after a reset by the peer.</summary>
    public static int PeerAddress(int fd, Span<byte> address)
    {
        uint bytes = (uint)address.Length;
        int result = SystemCall.Result(getpeername(fd, address, ref bytes));
        return result >= 0 ? (int)bytes : result == -Errno.ENOTCONN ? AddressOfResetPeer(fd, address) : result;
    }

    /// <summary>
    /// getpeername checks the connection's state first; SO_PEERNAME has the address from accept. It refuses a buffer longer than the
    /// address, so the longer length is tried first.
    /// </summary>
    private static int AddressOfResetPeer(int fd, Span<byte> address)
    {
        const int InterNetworkBytes = 16;
        const int InterNetworkV6Bytes = 28;
        Span<byte> whole = stackalloc byte[InterNetworkV6Bytes];
        int bytes = GetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.PeerName, whole);
        if (bytes == -Errno.EINVAL)
        {
            bytes = GetOption(fd, SocketOptionNumber.LevelSocket, SocketOptionNumber.PeerName, whole[..InterNetworkBytes]);
        }

        if (bytes < 0)
        {
            return -Errno.ENOTCONN;
        }

        whole[..Math.Min(bytes, address.Length)].CopyTo(address);
        return bytes;
    }

    /// <summary>Bytes in the send queue that the peer has not acknowledged (<c>SIOCOUTQ</c>).</summary>
    public static int UnacknowledgedBytes(int fd)
    {
        const nuint SiocOutQ = 0x5411;
        int bytes = 0;
        int result = SystemCall.Result(ioctl(fd, SiocOutQ, &bytes));
        return result < 0 ? result : bytes;
    }

    public static int SetNonBlocking(int fd)
    {
        const int SetFlags = 4;
        const int ReadWrite = 2;
        return SystemCall.Result(fcntl(fd, SetFlags, ReadWrite | SocketTypeNumber.NonBlocking));
    }

    /// <summary>Another descriptor of the same socket, not inherited by child processes.</summary>
    public static int Duplicate(int fd)
    {
        const int DuplicateCloseOnExec = 1030;
        return SystemCall.Result(fcntl(fd, DuplicateCloseOnExec, 0));
    }

    /// <summary>Marks an inherited descriptor as close-on-exec.</summary>
    public static int SetCloseOnExec(int fd)
    {
        const int SetDescriptorFlags = 2;
        const int CloseOnExec = 1;
        return SystemCall.Result(fcntl(fd, SetDescriptorFlags, CloseOnExec));
    }

    public static int EventDescriptor() => SystemCall.Result(eventfd(0, SocketTypeNumber.CloseOnExec));

    /// <summary>Adds one to an eventfd, which wakes its reader. Any thread.</summary>
    public static int SignalEvent(int fd)
    {
        ulong one = 1;
        return (int)FileCalls.Write(fd, new ReadOnlySpan<byte>(&one, sizeof(ulong)));
    }

    [LibraryImport("libc")]
    private static partial int socket(int family, int type, int protocol);

    [LibraryImport("libc")]
    private static partial int bind(int fd, ReadOnlySpan<byte> address, uint bytes);

    [LibraryImport("libc")]
    private static partial int connect(int fd, ReadOnlySpan<byte> address, uint bytes);

    [LibraryImport("libc")]
    private static partial int listen(int fd, int backlog);

    [LibraryImport("libc")]
    private static partial int accept4(int fd, void* address, uint* bytes, int flags);

    [LibraryImport("libc")]
    private static partial int shutdown(int fd, int how);

    [LibraryImport("libc")]
    private static partial int close(int fd);

    [LibraryImport("libc")]
    private static partial int setsockopt(int fd, int level, int name, void* value, uint bytes);

    [LibraryImport("libc")]
    private static partial int getsockopt(int fd, int level, int name, Span<byte> value, ref uint bytes);

    [LibraryImport("libc")]
    private static partial int getsockname(int fd, Span<byte> address, ref uint bytes);

    [LibraryImport("libc")]
    private static partial int getpeername(int fd, Span<byte> address, ref uint bytes);

    [LibraryImport("libc")]
    private static partial int ioctl(int fd, nuint request, void* argument);

    [LibraryImport("libc")]
    private static partial int fcntl(int fd, int command, nint argument);

    [LibraryImport("libc")]
    private static partial int eventfd(uint initial, int flags);
}

/// <summary><c>AF_*</c>.</summary>
internal static class AddressFamilyNumber
{
    public const int Unix = 1;
    public const int InterNetwork = 2;
    public const int InterNetworkV6 = 10;
}

/// <summary><c>SOCK_*</c>; the flags equal <c>O_NONBLOCK</c> and <c>O_CLOEXEC</c> on x64 and arm64.</summary>
internal static class SocketTypeNumber
{
    public const int Stream = 1;
    public const int Datagram = 2;
    public const int NonBlocking = 0x800;
    public const int CloseOnExec = 0x80000;

    /// <summary>
    /// The flags of accepted sockets. Ring operations and calls with MSG_DONTWAIT do not need non-blocking sockets; sendfile has no such
    /// flag.
    /// </summary>
    public const int OfConnections = CloseOnExec | NonBlocking;
}

/// <summary>Levels and names for setsockopt and getsockopt.</summary>
internal static class SocketOptionNumber
{
    public const int LevelSocket = 1;
    public const int ReuseAddress = 2;

    /// <summary><c>SO_TYPE</c>: stream or datagram, a <see cref="SocketTypeNumber"/>.</summary>
    public const int Type = 3;

    /// <summary><c>SO_ERROR</c>: the pending error, which reading clears.</summary>
    public const int Error = 4;

    public const int Linger = 13;

    /// <summary>
    /// <c>SO_SNDBUF</c> and <c>SO_RCVBUF</c>: the kernel doubles the number for its own overhead, up to a limit of the host.
    /// </summary>
    public const int SendBuffer = 7;
    public const int ReceiveBuffer = 8;

    public const int ReusePort = 15;

    /// <summary><c>SO_RCVTIMEO</c> with a <c>struct timeval</c> of two longs; it applies to accept too.</summary>
    public const int ReceiveTimeout = 20;

    /// <summary><c>SO_PEERNAME</c>: the peer's address; the buffer must not be longer than it.</summary>
    public const int PeerName = 28;

    /// <summary><c>SO_RCVBUFFORCE</c>: beyond the host's limit (net.core.rmem_max), with CAP_NET_ADMIN.</summary>
    public const int ReceiveBufferForce = 33;

    /// <summary><c>SO_DOMAIN</c>: a socket's address family.</summary>
    public const int Domain = 39;

    /// <summary><c>SO_RXQ_OVFL</c>: messages carry how many before them were dropped, since the socket was opened.</summary>
    public const int ReceiveDrops = 40;

    /// <summary><c>SO_ATTACH_REUSEPORT_CBPF</c>: a program chooses the socket of a group by what arrives.</summary>
    public const int AttachSelector = 51;

    /// <summary>
    /// <c>SO_MEMINFO</c> (Linux 4.12): numbers of 32 bits about a socket's memory, of which that at <see cref="MemoryDrops"/> is what
    /// <see cref="ReceiveDrops"/> counts.
    /// </summary>
    public const int MemoryInfo = 55;

    /// <summary><c>SK_MEMINFO_DROPS</c>: an index, not a name.</summary>
    public const int MemoryDrops = 8;

    /// <summary><c>SO_BINDTOIFINDEX</c>: the interface whose packets a socket gets, by its index.</summary>
    public const int BindToInterface = 62;

    public const int LevelTcp = 6;
    public const int NoDelay = 1;
    public const int TcpInfo = 11;

    /// <summary><c>TCP_CONGESTION</c>: a congestion control by name, which accepted connections inherit from their listener.</summary>
    public const int CongestionControl = 13;

    public const int NotSentLowWater = 25;

    public const int LevelIPv6 = 41;
    public const int IPv6Only = 26;

    /// <summary><c>IPV6_MTU_DISCOVER</c>, <c>IPV6_RECVPKTINFO</c>, <c>IPV6_PKTINFO</c>.</summary>
    public const int IPv6MtuDiscovery = 23;
    public const int ReceiveIPv6PacketInfo = 49;
    public const int IPv6PacketInfo = 50;

    /// <summary><c>IPV6_RECVTCLASS</c> and <c>IPV6_TCLASS</c>: the traffic class, whose last two bits are ECN's.</summary>
    public const int ReceiveTrafficClass = 66;
    public const int TrafficClass = 67;

    public const int LevelIP = 0;

    /// <summary><c>IP_TOS</c> and <c>IP_RECVTOS</c>: IPv4's traffic class.</summary>
    public const int TypeOfService = 1;
    public const int ReceiveTypeOfService = 13;

    public const int PacketInfo = 8;
    public const int MtuDiscovery = 10;

    /// <summary><c>IP_PMTUDISC_PROBE</c>, as in IPv6: no fragments, and a datagram may be larger than the path is known to take.</summary>
    public const int MtuProbe = 3;

    public const int LevelUdp = 17;

    /// <summary><c>UDP_SEGMENT</c>: one send is cut into datagrams of this size (Linux 4.18).</summary>
    public const int UdpSegment = 103;

    /// <summary><c>UDP_GRO</c>: one receive brings several datagrams of a size (Linux 5.0).</summary>
    public const int UdpCoalescing = 104;
}

/// <summary><c>MSG_*</c>.</summary>
internal static class MessageFlags
{
    /// <summary>Control messages did not fit.</summary>
    public const uint ControlTruncated = 0x8;

    /// <summary>Out: the datagram did not fit. In: its whole length is returned all the same.</summary>
    public const uint Truncated = 0x20;

    /// <summary>The call does not block, even on a blocking socket.</summary>
    public const uint DoNotWait = 0x40;
    public const uint WaitAll = 0x100;
    public const uint NoSignal = 0x4000;

    /// <summary>More data follows at once: a partial segment is held back for it.</summary>
    public const uint More = 0x8000;
}

/// <summary><c>SHUT_*</c>.</summary>
internal static class ShutdownHow
{
    public const int Send = 1;
    public const int Both = 2;
}

/// <summary><c>struct iovec</c>: one part of a scattered buffer.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct IoVector
{
    public byte* Address;
    public nuint Bytes;
}

/// <summary><c>struct msghdr</c>, 56 bytes on 64-bit Linux.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct MessageHeader
{
    public void* Name;
    public uint NameBytes;
    public IoVector* Vectors;
    public nuint VectorCount;
    public void* Control;
    public nuint ControlBytes;
    public int Flags;
}
