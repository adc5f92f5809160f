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
    /// What accepted sockets are. Operations of a ring and calls with MSG_DONTWAIT ask for no such flag; sendfile has none of its own.
    /// </summary>
    public const int OfConnections = CloseOnExec | NonBlocking;
}

/// <summary>Levels and names for setsockopt and getsockopt.</summary>
internal static class SocketOptionNumber
{
    public const int LevelSocket = 1;
    public const int ReuseAddress = 2;

    /// <summary><c>SO_ERROR</c>: what has befallen the socket since it was last asked.</summary>
    public const int Error = 4;

    public const int Linger = 13;
    public const int ReusePort = 15;

    /// <summary><c>SO_RCVTIMEO</c> with a <c>struct timeval</c> of two longs; an accept heeds it too.</summary>
    public const int ReceiveTimeout = 20;

    /// <summary><c>SO_PEERNAME</c>: the peer's address, in no more room than it has.</summary>
    public const int PeerName = 28;

    /// <summary><c>SO_DOMAIN</c>: a socket's address family.</summary>
    public const int Domain = 39;

    /// <summary><c>SO_BUSY_POLL</c>: microseconds, which accepted connections have from their listener. Anybody's since 6.4.</summary>
    public const int BusyPoll = 46;

    /// <summary><c>SO_PREFER_BUSY_POLL</c> (5.11); needs CAP_NET_ADMIN.</summary>
    public const int PreferBusyPoll = 69;

    public const int LevelTcp = 6;
    public const int NoDelay = 1;
    public const int TcpInfo = 11;

    /// <summary><c>TCP_CONGESTION</c>: a congestion control by name, which accepted connections have from their listener.</summary>
    public const int CongestionControl = 13;

    public const int NotSentLowWater = 25;

    /// <summary><c>TCP_ULP</c>: what speaks between TCP and the program, by name; of established connections only.</summary>
    public const int UpperLayerProtocol = 31;

    public const int LevelIPv6 = 41;
    public const int IPv6Only = 26;
}

/// <summary><c>MSG_*</c>.</summary>
internal static class MessageFlags
{
    /// <summary>A call does not wait, whether the socket is non-blocking or not.</summary>
    public const uint DoNotWait = 0x40;
    public const uint WaitAll = 0x100;
    public const uint NoSignal = 0x4000;

    /// <summary>More follows at once: what fills no segment is kept back for it.</summary>
    public const uint More = 0x8000;
}

/// <summary><c>SHUT_*</c>.</summary>
internal static class ShutdownHow
{
    public const int Send = 1;
    public const int Both = 2;
}
