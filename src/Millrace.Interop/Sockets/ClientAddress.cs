using System.Buffers.Binary;
using System.Net;

namespace Millrace.Interop.Sockets;

/// <summary>
/// The key by which connections of a client are counted: an IPv4 address, mapped into IPv6 or not, or the /64 network of an IPv6 address,
/// as a host may use any address of it (RFC 4291, section 2.5.4; privacy addresses, RFC 8981).
/// </summary>
internal readonly record struct ClientAddress(ulong Value)
{
    /// <summary>Bytes of <c>struct sockaddr_in6</c>, the larger one.</summary>
    public const int SocketAddressBytesMax = 28;

    private const int IPv4Offset = 4;
    private const int IPv6Offset = 8;

    /// <summary>Distinguishes IPv4 from the IPv6 networks below ::/32, which contain no client but ::1.</summary>
    private const ulong IPv4Mark = 0x1_0000_0000;

    private static ReadOnlySpan<byte> MappedPrefix => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF];

    /// <summary>The client of a <c>struct sockaddr</c>; null for families without client addresses.</summary>
    public static ClientAddress? Of(ReadOnlySpan<byte> address)
    {
        int family = address.Length < sizeof(ushort) ? 0 : BinaryPrimitives.ReadUInt16LittleEndian(address);
        if (family == AddressFamilyNumber.InterNetwork && address.Length >= IPv4Offset + sizeof(uint))
        {
            return OfIPv4(address[IPv4Offset..]);
        }

        return family == AddressFamilyNumber.InterNetworkV6 && address.Length >= IPv6Offset + 16
            ? OfIPv6(address.Slice(IPv6Offset, 16))
            : null;
    }

    /// <summary>The client of an IP address.</summary>
    public static ClientAddress Of(IPAddress address)
    {
        Span<byte> ip = stackalloc byte[16];
        _ = address.TryWriteBytes(ip, out int bytes);
        return bytes == sizeof(uint) ? OfIPv4(ip) : OfIPv6(ip);
    }

    /// <summary>The client of the 16 bytes of an IPv6 address, or of an IPv4 address that is mapped into IPv6.</summary>
    public static ClientAddress OfIPv6(ReadOnlySpan<byte> ip) => ip.StartsWith(MappedPrefix)
        ? OfIPv4(ip[MappedPrefix.Length..])
        : new ClientAddress(BinaryPrimitives.ReadUInt64BigEndian(ip));

    private static ClientAddress OfIPv4(ReadOnlySpan<byte> ip) => new(IPv4Mark | BinaryPrimitives.ReadUInt32BigEndian(ip));
}
