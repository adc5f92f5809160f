using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Datagrams;
using Millrace.Interop.Sockets;
using Millrace.Quic.Connections;

namespace Millrace.QuicTransport;

/// <summary>Addresses of one layer as those of another. Pure; any thread.</summary>
internal static class Addresses
{
    public static PathAddress ToPath(in DatagramAddress address) => new(address.High, address.Low, address.Port, address.Scope);

    public static DatagramAddress ToDatagram(in PathAddress address) => new(address.High, address.Low, address.Port, address.Scope);

    public static PathAddress ToPath(IPEndPoint endPoint)
    {
        IPAddress address = endPoint.Address;
        Span<byte> bytes = stackalloc byte[16];
        if (address.AddressFamily == AddressFamily.InterNetwork)
        {
            _ = address.TryWriteBytes(bytes, out _);
            return PathAddress.FromIPv4(BinaryPrimitives.ReadUInt32BigEndian(bytes), (ushort)endPoint.Port);
        }

        _ = address.TryWriteBytes(bytes, out _);
        return PathAddress.FromIPv6(bytes, (ushort)endPoint.Port, (uint)address.ScopeId);
    }

    /// <summary>IPv4 addresses are not mapped ones.</summary>
    public static IPEndPoint ToEndPoint(in PathAddress address)
    {
        if (address.IsIPv4)
        {
            Span<byte> four = stackalloc byte[sizeof(uint)];
            BinaryPrimitives.WriteUInt32BigEndian(four, (uint)address.Low);
            return new IPEndPoint(new IPAddress(four), address.Port);
        }

        Span<byte> bytes = stackalloc byte[PathAddress.Length];
        address.Write(bytes);
        return new IPEndPoint(new IPAddress(bytes[..16], address.Scope), address.Port);
    }

    /// <summary>The key by which a client's connections are counted, as those over TCP are.</summary>
    public static ClientAddress ToClient(in PathAddress address)
    {
        Span<byte> bytes = stackalloc byte[PathAddress.Length];
        address.Write(bytes);
        return ClientAddress.OfIPv6(bytes[..16]);
    }
}
