using System.Runtime.InteropServices;

namespace Millrace.Interop.Sockets;

/// <summary>
/// Receives and sends several datagrams by one call, without waiting: their number, or -errno of the first; an error of a later one is
/// that of the next call.
/// </summary>
internal static unsafe partial class DatagramCalls
{
    /// <summary>
    /// <see cref="MessageBatchEntry.Bytes"/> is the length of what arrived, also of what did not fit. -EAGAIN: nothing is there.
    /// </summary>
    public static int Receive(int fd, MessageBatchEntry* entries, int count) =>
        SystemCall.Result(recvmmsg(fd, entries, (uint)count, MessageFlags.DoNotWait | MessageFlags.Truncated, null));

    /// <summary>-EAGAIN: the socket is full.</summary>
    public static int Send(int fd, MessageBatchEntry* entries, int count) =>
        SystemCall.Result(sendmmsg(fd, entries, (uint)count, MessageFlags.DoNotWait | MessageFlags.NoSignal));

    [LibraryImport("libc")]
    private static partial int recvmmsg(int fd, MessageBatchEntry* entries, uint count, uint flags, void* timeout);

    [LibraryImport("libc")]
    private static partial int sendmmsg(int fd, MessageBatchEntry* entries, uint count, uint flags);
}

/// <summary><c>struct mmsghdr</c>, 64 bytes.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct MessageBatchEntry
{
    public MessageHeader Header;
    public uint Bytes;
}

/// <summary>
/// <c>struct cmsghdr</c>, 16 bytes: begins a control message, whose data follows. The next one begins at a multiple of 8.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal struct ControlHeader
{
    /// <summary>With this header, without the padding.</summary>
    public nuint Bytes;
    public int Level;
    public int Type;
}

/// <summary><c>struct sockaddr_in</c>, 16 bytes. Port and address are in network order.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SocketAddressIPv4
{
    public ushort Family;
    public ushort Port;
    public uint Address;
    public uint Zero0;
    public uint Zero1;
}

/// <summary><c>struct sockaddr_in6</c>, 28 bytes. Port and address are in network order.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct SocketAddressIPv6
{
    public ushort Family;
    public ushort Port;
    public uint FlowInformation;
    public ulong High;
    public ulong Low;
    public uint Scope;
}

/// <summary><c>struct in_pktinfo</c>, 12 bytes: the local address of a received packet, and the source of one to send.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct PacketInfoIPv4
{
    public int Interface;

    /// <summary>Out: the source. In: the local address that received the packet, which differs from its own for a broadcast.</summary>
    public uint Local;

    /// <summary>In: the packet's destination.</summary>
    public uint Destination;
}

/// <summary><c>struct in6_pktinfo</c>, 20 bytes.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct PacketInfoIPv6
{
    public ulong High;
    public ulong Low;
    public uint Interface;
}
