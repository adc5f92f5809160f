using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>End points to and from the kernel's <c>struct sockaddr</c>.</summary>
internal static class SocketEndPoint
{
    private const int LargestAddressBytes = 128;

    /// <summary>They create the end points of their families.</summary>
    private static readonly IPEndPoint AnyIPv4 = new(IPAddress.Any, 0);
    private static readonly IPEndPoint AnyIPv6 = new(IPAddress.IPv6Any, 0);
    private static readonly UnixDomainSocketEndPoint AnyUnix = new("any");

    public static ReadOnlySpan<byte> Encode(EndPoint endPoint)
    {
        SocketAddress address = endPoint.Serialize();
        return address.Buffer.Span[..address.Size];
    }

    public static int Family(EndPoint endPoint) => endPoint.AddressFamily switch
    {
        AddressFamily.InterNetwork => AddressFamilyNumber.InterNetwork,
        AddressFamily.InterNetworkV6 => AddressFamilyNumber.InterNetworkV6,
        AddressFamily.Unix => AddressFamilyNumber.Unix,
        _ => throw new NotSupportedException($"{endPoint} cannot be listened on: give an IPv4, IPv6 or unix socket address."),
    };

    /// <summary>
    /// The file of a unix socket; null for other addresses and for abstract names. As text an abstract name begins with '@', as a file name
    /// may too: only the encoded address distinguishes them (unix(7): the first byte of an abstract name is zero).
    /// </summary>
    public static string? FilePathOf(EndPoint endPoint) =>
        endPoint is UnixDomainSocketEndPoint && Encode(endPoint) is [_, _, not 0, ..] ? endPoint.ToString() : null;

    /// <summary>Whether the path of a unix socket is another kind of file, which is never removed.</summary>
    public static bool IsOtherFile(EndPoint endPoint) => FilePathOf(endPoint) is { } path
        && FileCalls.StatPath(FileCalls.WorkingDirectory, CString.Of(path), StatxMask.Type, out Statx there) >= 0
        && there.Type != FileType.Socket;

    /// <summary>
    /// The address that a socket is bound to; null for an unnamed unix socket or an unsupported family, with -errno for a failure.
    /// </summary>
    public static EndPoint? OfSocket(int socket, out int result)
    {
        Span<byte> bytes = stackalloc byte[LargestAddressBytes];
        result = SocketCalls.LocalAddress(socket, bytes);
        return result < 0 ? null : Decode(bytes[..result]);
    }

    /// <summary>Whether a descriptor is a socket for datagrams.</summary>
    public static bool IsDatagram(int socket)
    {
        Span<byte> type = stackalloc byte[sizeof(int)];
        return SocketCalls.GetOption(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.Type, type) == sizeof(int)
            && BinaryPrimitives.ReadInt32LittleEndian(type) == SocketTypeNumber.Datagram;
    }

    public static EndPoint? OfPeer(int socket)
    {
        Span<byte> bytes = stackalloc byte[LargestAddressBytes];
        int length = SocketCalls.PeerAddress(socket, bytes);
        return length < 0 ? null : Decode(bytes[..length]);
    }

    public static bool IsAny(EndPoint endPoint) =>
        endPoint is IPEndPoint ip && (ip.Address.Equals(IPAddress.Any) || ip.Address.Equals(IPAddress.IPv6Any));

    /// <summary>
    /// Whether one address is a wildcard that covers the other, on the same port: the kernel binds both only with SO_REUSEPORT.
    /// </summary>
    public static bool Overlap(EndPoint one, EndPoint other) =>
        one is IPEndPoint first && other is IPEndPoint second
        && first.Port == second.Port && first.Port != 0 && !first.Address.Equals(second.Address)
        && (Covers(first.Address, second.Address) || Covers(second.Address, first.Address));

    private static bool Covers(IPAddress wide, IPAddress narrow) =>
        wide.Equals(IPAddress.IPv6Any) || (wide.Equals(IPAddress.Any) && narrow.AddressFamily == AddressFamily.InterNetwork);

    /// <summary>Converts an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) to IPv4; returns others unchanged.</summary>
    public static EndPoint? Unmapped(EndPoint? endPoint) => endPoint is IPEndPoint { Address.IsIPv4MappedToIPv6: true } mapped
        ? new IPEndPoint(mapped.Address.MapToIPv4(), mapped.Port)
        : endPoint;

    /// <summary>Not for the host of all .NET programs, which would all be given it.</summary>
    private static string SetCapability() => Path.GetFileName(Environment.ProcessPath) is null or "dotnet"
        ? ""
        : $"'sudo setcap cap_net_bind_service=+ep {Environment.ProcessPath}', or ";

    public static EngineException Refusal(EndPoint endPoint, int errno) => new(errno switch
    {
        Errno.EADDRINUSE when IsOtherFile(endPoint) => $"'{endPoint}' exists and is not a socket: remove it, or choose another path.",
        Errno.EADDRINUSE => $"{endPoint} is in use by another process: stop it or choose another address.",
        Errno.EACCES when endPoint is IPEndPoint =>
            $"{endPoint} may not be bound by this user: ports below 1024 need CAP_NET_BIND_SERVICE. Choose a higher port, or grant it: "
                + $"{SetCapability()}AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit.",
        Errno.EADDRNOTAVAIL => $"{endPoint} is not an address of this machine: use one of its addresses, or a port alone for all.",
        Errno.EAFNOSUPPORT => $"{endPoint} has an address family that this machine does not support.",
        _ when Errno.DescriptorRemedy(errno) is { } remedy => $"{endPoint} cannot be listened on, as {Errno.Describe(errno)}: {remedy}.",
        _ when FilePathOf(endPoint) is { } path => DescribeRefusal(path, errno),
        _ => $"{endPoint} cannot be listened on: {Errno.Describe(errno)}.",
    })
    {
        ErrorNumber = errno,
        IsMistake = endPoint is UnixDomainSocketEndPoint
            && (FileProblem.IsMistake(errno) || (errno == Errno.EADDRINUSE && IsOtherFile(endPoint))),
    };

    /// <summary>The message on a socket file that cannot be created.</summary>
    public static string DescribeRefusal(string path, int errno) =>
        $"The socket '{path}' cannot be created: {FileProblem.Of(path, errno)}. Use a path in a folder that exists and that this user may "
            + "write.";

    private static EndPoint? Decode(ReadOnlySpan<byte> bytes)
    {
        EndPoint? family = bytes.Length < sizeof(ushort) ? null : BinaryPrimitives.ReadUInt16LittleEndian(bytes) switch
        {
            AddressFamilyNumber.InterNetwork => AnyIPv4,
            AddressFamilyNumber.InterNetworkV6 => AnyIPv6,
            // An unnamed unix socket, such as most clients', has no path after its family.
            AddressFamilyNumber.Unix when bytes.Length > sizeof(ushort) => AnyUnix,
            _ => null,
        };
        if (family is null)
        {
            return null;
        }

        var address = new SocketAddress(family.AddressFamily, bytes.Length);
        bytes.CopyTo(address.Buffer.Span);
        return family.Create(address);
    }
}
