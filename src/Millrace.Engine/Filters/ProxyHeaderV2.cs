using System.Buffers.Binary;
using System.Net;
using System.Numerics;

namespace Millrace.Engine.Filters;

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
