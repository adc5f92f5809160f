using System.Buffers.Binary;
using System.Net;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>The two bits of the IP header by which routers report congestion (RFC 3168).</summary>
internal enum DatagramEcn : byte
{
    NotEct = 0,
    Ect1 = 1,
    Ect0 = 2,
    CongestionExperienced = 3,
}

/// <summary>
/// An IP address (IPv4 as IPv6-mapped) with its scope, the index of an interface for link-local ones, and a port. A value; any thread.
/// </summary>
internal readonly record struct DatagramAddress(ulong High, ulong Low, ushort Port, uint Scope)
{
    private const ulong MappedPrefix = 0x0000_FFFF_0000_0000;
    private const ulong LinkLocalPrefix = 0xFE80_0000_0000_0000;
    private const ulong LinkLocalMask = 0xFFC0_0000_0000_0000;

    public bool IsIPv4 => High == 0 && Low >> 32 == MappedPrefix >> 32;

    /// <summary>Whether it is no host's, but all local ones.</summary>
    public bool IsAny => High == 0 && Low is 0 or MappedPrefix;

    public static DatagramAddress Of(IPEndPoint endPoint)
    {
        Span<byte> bytes = stackalloc byte[16];
        _ = endPoint.Address.TryWriteBytes(bytes, out int count);
        ushort port = (ushort)endPoint.Port;
        return count == sizeof(uint)
            ? OfIPv4(BinaryPrimitives.ReadUInt32BigEndian(bytes), port)
            : OfIPv6(
                BinaryPrimitives.ReadUInt64BigEndian(bytes), BinaryPrimitives.ReadUInt64BigEndian(bytes[8..]), port,
                (uint)endPoint.Address.ScopeId);
    }

    public static DatagramAddress OfIPv4(uint address, ushort port) => new(0, MappedPrefix | address, port, 0);

    /// <summary>The scope of addresses that are not link-local is dropped: they are the same on each interface.</summary>
    public static DatagramAddress OfIPv6(ulong high, ulong low, ushort port, uint scope) =>
        new(high, low, port, (high & LinkLocalMask) == LinkLocalPrefix ? scope : 0);

    /// <summary>The address of a <c>struct sockaddr</c>; the default for families other than IP.</summary>
    public static DatagramAddress Read(ReadOnlySpan<byte> address)
    {
        if (address.Length >= Unsafe.SizeOf<SocketAddressIPv6>() && FamilyOf(address) == AddressFamilyNumber.InterNetworkV6)
        {
            var six = MemoryMarshal.Read<SocketAddressIPv6>(address);
            return OfIPv6(Swap(six.High), Swap(six.Low), Swap(six.Port), six.Scope);
        }

        if (address.Length >= Unsafe.SizeOf<SocketAddressIPv4>() && FamilyOf(address) == AddressFamilyNumber.InterNetwork)
        {
            var four = MemoryMarshal.Read<SocketAddressIPv4>(address);
            return OfIPv4(Swap(four.Address), Swap(four.Port));
        }

        return default;
    }

    /// <summary>Writes a <c>struct sockaddr</c> for a socket of this family, and returns its length; 0 if it has no such address.</summary>
    public int Write(Span<byte> destination, bool isIPv6)
    {
        if (isIPv6)
        {
            var six = new SocketAddressIPv6
            {
                Family = AddressFamilyNumber.InterNetworkV6,
                Port = Swap(Port),
                High = Swap(High),
                Low = Swap(Low),
                Scope = Scope,
            };
            MemoryMarshal.Write(destination, six);
            return Unsafe.SizeOf<SocketAddressIPv6>();
        }

        if (!IsIPv4)
        {
            return 0;
        }

        var four = new SocketAddressIPv4 { Family = AddressFamilyNumber.InterNetwork, Port = Swap(Port), Address = Swap((uint)Low) };
        MemoryMarshal.Write(destination, four);
        return Unsafe.SizeOf<SocketAddressIPv4>();
    }

    /// <summary>IPv4 as such, not mapped. Allocates.</summary>
    public IPEndPoint ToEndPoint()
    {
        Span<byte> bytes = stackalloc byte[16];
        BinaryPrimitives.WriteUInt64BigEndian(bytes, High);
        BinaryPrimitives.WriteUInt64BigEndian(bytes[8..], Low);
        return new IPEndPoint(IsIPv4 ? new IPAddress(bytes[12..]) : new IPAddress(bytes, Scope), Port);
    }

    public override string ToString() => ToEndPoint().ToString();

    /// <summary>Between the order of the network and of this machine.</summary>
    internal static ulong Swap(ulong value) => BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value;

    internal static uint Swap(uint value) => BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value;

    private static ushort Swap(ushort value) => BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(value) : value;

    private static int FamilyOf(ReadOnlySpan<byte> address) => MemoryMarshal.Read<ushort>(address);
}
