using System.Buffers.Binary;

namespace Millrace.Quic.Connections;

/// <summary>One end of a path: an IP address (IPv4 as IPv6-mapped), its scope and a port. A value; compared by all of them.</summary>
internal readonly record struct PathAddress(ulong High, ulong Low, ushort Port, uint Scope)
{
    /// <summary>Bytes that <see cref="Write"/> writes: the address, then the port.</summary>
    public const int Length = 18;

    private const ulong MappedPrefix = 0x0000_FFFF_0000_0000;

    public static PathAddress FromIPv4(uint address, ushort port) => new(0, MappedPrefix | address, port, 0);

    public static PathAddress FromIPv6(ReadOnlySpan<byte> address, ushort port, uint scope) => new(
        BinaryPrimitives.ReadUInt64BigEndian(address), BinaryPrimitives.ReadUInt64BigEndian(address[8..]), port, scope);

    public bool IsIPv4 => High == 0 && Low >> 32 == MappedPrefix >> 32;

    /// <summary>The same host: a change of the port alone is a NAT's, mostly (RFC 9000, section 9.4).</summary>
    public bool HasAddressOf(in PathAddress other) => High == other.High && Low == other.Low && Scope == other.Scope;

    /// <summary>The address and the port in network order: what tokens are bound to. Its first 16 bytes are the address.</summary>
    public void Write(Span<byte> destination)
    {
        BinaryPrimitives.WriteUInt64BigEndian(destination, High);
        BinaryPrimitives.WriteUInt64BigEndian(destination[8..], Low);
        BinaryPrimitives.WriteUInt16BigEndian(destination[16..], Port);
    }
}
