using System.Buffers;
using System.Buffers.Binary;
using System.Buffers.Text;
using System.Net;
using System.Net.Sockets;
using System.Numerics;
using System.Text;

namespace Millrace.Engine.Filters;

/// <summary>The progress of reading a PROXY header.</summary>
internal enum ProxyHeaderStatus
{
    Incomplete,

    /// <summary>It announces the client of the connection to the proxy.</summary>
    Announced,

    /// <summary>
    /// A valid header without addresses: the connection is the proxy's own (a health check), or of a family without IP addresses.
    /// </summary>
    NoAddresses,

    /// <summary>Not a header, or not a valid one.</summary>
    Malformed,
}

/// <summary>The content of a PROXY header.</summary>
internal readonly record struct ProxyHeader(
    ProxyHeaderStatus Status, int Bytes = 0, IPEndPoint? Source = null, IPEndPoint? Destination = null)
{
    public static ProxyHeader Incomplete => new(ProxyHeaderStatus.Incomplete);

    public static ProxyHeader Malformed => new(ProxyHeaderStatus.Malformed);

    /// <summary>
    /// Reads the first bytes of a connection from a proxy (the PROXY protocol, proxy-protocol.txt, versions 1 and 2). The result does not
    /// depend on how the bytes are split.
    /// </summary>
    public static ProxyHeader Read(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            return Incomplete;
        }

        return bytes[0] == ProxyHeaderV1.FirstByte ? ProxyHeaderV1.Read(bytes) : ProxyHeaderV2.Read(bytes);
    }
}

/// <summary>Version 1 of the PROXY header: one line of text. <c>PROXY TCP4 192.0.2.1 198.51.100.1 56324 443</c></summary>
internal static class ProxyHeaderV1
{
    public const byte FirstByte = (byte)'P';

    /// <summary>The longest by the specification: two full IPv6 addresses, or an UNKNOWN followed by as much.</summary>
    private const int BytesMax = 107;

    private static ReadOnlySpan<byte> Start => "PROXY "u8;

    public static ProxyHeader Read(ReadOnlySpan<byte> bytes)
    {
        int compared = Math.Min(bytes.Length, Start.Length);
        if (!bytes[..compared].SequenceEqual(Start[..compared]))
        {
            return ProxyHeader.Malformed;
        }

        int end = bytes[..Math.Min(bytes.Length, BytesMax)].IndexOf("\r\n"u8);
        if (end < 0)
        {
            return bytes.Length < BytesMax ? ProxyHeader.Incomplete : ProxyHeader.Malformed;
        }

        return ReadLine(bytes[Start.Length..end], end + 2);
    }

    private static ProxyHeader ReadLine(ReadOnlySpan<byte> line, int bytes)
    {
        ReadOnlySpan<byte> family = Next(ref line);
        if (family.SequenceEqual("UNKNOWN"u8))
        {
            return new ProxyHeader(ProxyHeaderStatus.NoAddresses, bytes);
        }

        AddressFamily wanted = family.SequenceEqual("TCP4"u8) ? AddressFamily.InterNetwork
            : family.SequenceEqual("TCP6"u8) ? AddressFamily.InterNetworkV6
            : AddressFamily.Unspecified;
        IPAddress? source = AddressIn(Next(ref line), wanted);
        IPAddress? destination = AddressIn(Next(ref line), wanted);
        int sourcePort = PortIn(Next(ref line));
        int destinationPort = PortIn(line);
        return source is null || destination is null || sourcePort < 0 || destinationPort < 0
            ? ProxyHeader.Malformed
            : new ProxyHeader(
                ProxyHeaderStatus.Announced, bytes, new IPEndPoint(source, sourcePort), new IPEndPoint(destination, destinationPort));
    }

    /// <summary>The text up to the next space; fields are separated by exactly one.</summary>
    private static ReadOnlySpan<byte> Next(ref ReadOnlySpan<byte> line)
    {
        int space = line.IndexOf((byte)' ');
        ReadOnlySpan<byte> text = space < 0 ? line : line[..space];
        line = space < 0 ? default : line[(space + 1)..];
        return text;
    }

    private static IPAddress? AddressIn(ReadOnlySpan<byte> text, AddressFamily wanted) =>
        AddressText.Parse(text) is { } address && address.AddressFamily == wanted ? address : null;

    private static int PortIn(ReadOnlySpan<byte> text) =>
        !text.IsEmpty && !text.ContainsAnyExceptInRange((byte)'0', (byte)'9')
        && Utf8Parser.TryParse(text, out ushort port, out int read) && read == text.Length ? port : -1;
}

/// <summary>
/// Version 2 of the PROXY header: a signature, a command, a family, a length, addresses, and type-length-value fields (TLV), of which only
/// the checksum is used.
/// </summary>
internal static class ProxyHeaderV2
{
    private const int FixedBytes = 16;
    private const int TlvHeadBytes = 3;
    private const int ChecksumType = 0x03;

    /// <summary>Enough for unix addresses, and for values as long as a certificate's name.</summary>
    private const int BytesMax = 4 * 1024;

    private static ReadOnlySpan<byte> Signature => "\r\n\r\n\0\r\nQUIT\n"u8;

    private enum Command
    {
        Local = 0,
        Proxy = 1,
    }

    private enum Family
    {
        Unspecified = 0,
        InterNetwork = 1,
        InterNetworkV6 = 2,
        Unix = 3,
    }

    public static ProxyHeader Read(ReadOnlySpan<byte> bytes)
    {
        int compared = Math.Min(bytes.Length, Signature.Length);
        if (!bytes[..compared].SequenceEqual(Signature[..compared]))
        {
            return ProxyHeader.Malformed;
        }

        if (bytes.Length < FixedBytes)
        {
            return ProxyHeader.Incomplete;
        }

        const int VersionAndCommand = 12;
        const int FamilyAndTransport = 13;
        const int Length = 14;
        int version = bytes[VersionAndCommand] >> 4;
        var command = (Command)(bytes[VersionAndCommand] & 0xF);
        int whole = FixedBytes + BinaryPrimitives.ReadUInt16BigEndian(bytes[Length..]);
        if (version != 2 || command > Command.Proxy || whole > BytesMax)
        {
            return ProxyHeader.Malformed;
        }

        return bytes.Length < whole ? ProxyHeader.Incomplete : ReadWhole(bytes[..whole], command, bytes[FamilyAndTransport]);
    }

    private static ProxyHeader ReadWhole(ReadOnlySpan<byte> block, Command command, byte familyAndTransport)
    {
        var noAddresses = new ProxyHeader(ProxyHeaderStatus.NoAddresses, block.Length);
        if (command == Command.Local)
        {
            // The rest is to be ignored, the family included.
            return noAddresses;
        }

        var family = (Family)(familyAndTransport >> 4);
        int transport = familyAndTransport & 0xF;
        if (family > Family.Unix || transport > 2)
        {
            return ProxyHeader.Malformed;
        }

        int addressBytes = AddressBytesOf(family) * 2;
        int portBytes = family is Family.InterNetwork or Family.InterNetworkV6 ? 2 * sizeof(ushort) : 0;
        int tlvs = FixedBytes + addressBytes + portBytes;
        if (block.Length < tlvs)
        {
            return ProxyHeader.Malformed;
        }

        if (family == Family.Unspecified)
        {
            // What follows need not be TLVs.
            return noAddresses;
        }

        if (!AreValuesValid(block, tlvs))
        {
            return ProxyHeader.Malformed;
        }

        return family == Family.Unix || transport == 0
            ? noAddresses
            : new ProxyHeader(
                ProxyHeaderStatus.Announced,
                block.Length,
                EndPointAt(block[FixedBytes..], 0, addressBytes / 2),
                EndPointAt(block[FixedBytes..], 1, addressBytes / 2));
    }

    private static int AddressBytesOf(Family family) => family switch
    {
        Family.InterNetwork => 4,
        Family.InterNetworkV6 => 16,
        Family.Unix => 108,
        _ => 0,
    };

    private static IPEndPoint EndPointAt(ReadOnlySpan<byte> addresses, int index, int addressBytes) => new(
        new IPAddress(addresses.Slice(index * addressBytes, addressBytes)),
        BinaryPrimitives.ReadUInt16BigEndian(addresses[((2 * addressBytes) + (index * sizeof(ushort)))..]));

    /// <summary>Whether the TLVs fill the block, and a checksum, if any, is right.</summary>
    private static bool AreValuesValid(ReadOnlySpan<byte> block, int at)
    {
        while (at < block.Length)
        {
            if (block.Length - at < TlvHeadBytes)
            {
                return false;
            }

            int type = block[at];
            int length = BinaryPrimitives.ReadUInt16BigEndian(block[(at + 1)..]);
            at += TlvHeadBytes;
            if (block.Length - at < length || (type == ChecksumType && !IsChecksumRight(block, at, length)))
            {
                return false;
            }

            at += length;
        }

        return true;
    }

    /// <summary>CRC32C over the block, with zeros in the position of the checksum itself.</summary>
    private static bool IsChecksumRight(ReadOnlySpan<byte> block, int at, int length)
    {
        if (length != sizeof(uint))
        {
            return false;
        }

        uint crc = uint.MaxValue;
        for (int i = 0; i < block.Length; i++)
        {
            bool isOwn = i >= at && i < at + sizeof(uint);
            crc = BitOperations.Crc32C(crc, isOwn ? (byte)0 : block[i]);
        }

        return ~crc == BinaryPrimitives.ReadUInt32BigEndian(block[at..]);
    }
}

/// <summary>Parses addresses as protocols define them: .NET also accepts <c>1</c>, <c>0x7f.1</c> and scopes.</summary>
internal static class AddressText
{
    /// <summary>The longest form: an IPv6 address that ends with an IPv4 one.</summary>
    private const int CharactersMax = 45;

    private static readonly SearchValues<byte> IPv4Bytes = SearchValues.Create("0123456789."u8);
    private static readonly SearchValues<byte> IPv6Bytes = SearchValues.Create("0123456789abcdefABCDEF:."u8);

    public static IPAddress? Parse(ReadOnlySpan<byte> text)
    {
        bool isIPv4 = text.Count((byte)'.') == 3 && !text.ContainsAnyExcept(IPv4Bytes);
        bool isIPv6 = text.Contains((byte)':') && !text.ContainsAnyExcept(IPv6Bytes);
        if (text.Length > CharactersMax || !(isIPv4 || isIPv6))
        {
            return null;
        }

        Span<char> characters = stackalloc char[CharactersMax];
        int count = Encoding.ASCII.GetChars(text, characters);
        AddressFamily wanted = isIPv4 ? AddressFamily.InterNetwork : AddressFamily.InterNetworkV6;
        return IPAddress.TryParse(characters[..count], out IPAddress? address) && address.AddressFamily == wanted ? address : null;
    }
}
