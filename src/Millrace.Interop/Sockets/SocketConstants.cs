namespace Millrace.Interop.Sockets;

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

    /// <summary><c>SO_ERROR</c>: the pending error, which reading clears.</summary>
    public const int Error = 4;

    public const int Linger = 13;
    public const int ReusePort = 15;

    /// <summary><c>SO_RCVTIMEO</c> with a <c>struct timeval</c> of two longs; it applies to accept too.</summary>
    public const int ReceiveTimeout = 20;

    /// <summary>
    /// <c>SO_ATTACH_FILTER</c> with a <c>struct sock_fprog</c>: packets that it rejects are dropped before the socket sees them.
    /// </summary>
    public const int AttachFilter = 26;

    /// <summary><c>SO_PEERNAME</c>: the peer's address; the buffer must not be longer than it.</summary>
    public const int PeerName = 28;

    /// <summary><c>SO_DOMAIN</c>: a socket's address family.</summary>
    public const int Domain = 39;

    public const int LevelTcp = 6;
    public const int NoDelay = 1;
    public const int TcpInfo = 11;

    /// <summary><c>TCP_CONGESTION</c>: a congestion control by name, which accepted connections inherit from their listener.</summary>
    public const int CongestionControl = 13;

    public const int NotSentLowWater = 25;

    /// <summary><c>TCP_ULP</c>: the protocol layer between TCP and the program, by name; on established connections only.</summary>
    public const int UpperLayerProtocol = 31;

    public const int LevelIPv6 = 41;
    public const int IPv6Only = 26;
}

/// <summary><c>MSG_*</c>.</summary>
internal static class MessageFlags
{
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
