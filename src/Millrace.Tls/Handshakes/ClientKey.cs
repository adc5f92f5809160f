using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;

namespace Millrace.Tls.Handshakes;

/// <summary>Identifies clients: by address, for IPv6 by the /64 network, which a single client may own.</summary>
internal static class ClientKey
{
    private const int AddressBytes = 16;
    private const int NetworkBytes = 8;

    /// <summary>0 for clients without an address (unix sockets), which count as one.</summary>
    public static UInt128 Of(IPAddress? client)
    {
        if (client is null)
        {
            return 0;
        }

        IPAddress address = client.IsIPv4MappedToIPv6 ? client.MapToIPv4() : client;
        Span<byte> bytes = stackalloc byte[AddressBytes];
        bytes.Clear();
        _ = address.TryWriteBytes(bytes, out _);
        if (address.AddressFamily == AddressFamily.InterNetworkV6)
        {
            bytes[NetworkBytes..].Clear();
        }

        return BinaryPrimitives.ReadUInt128BigEndian(bytes);
    }
}
