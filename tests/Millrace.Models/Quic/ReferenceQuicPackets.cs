using System.Numerics;

namespace Millrace.Models;

/// <summary>
/// A slow reader of QUIC's packet headers, by the figures of RFC 8999, of RFC 9000, section 17, and of RFC 9369, section 3.2. It removes no
/// protection.
/// </summary>
internal static class ReferenceQuicPackets
{
    private const string Version1 = "00000001";
    private const string Version2 = "6b3343cf";

    /// <summary>The first packet of a datagram, and how many bytes it has; null: there is none.</summary>
    public static string? Describe(byte[] datagram, int localIdLength, out int length)
    {
        length = datagram.Length;
        try
        {
            var reader = new BitReader(datagram);
            string? text = reader.Bits(1) == "0" ? Short(reader, localIdLength) : Long(reader, datagram.Length, ref length);
            return text;
        }
        catch (EndOfStreamException)
        {
            return null;
        }
    }

    private static string? Short(BitReader reader, int localIdLength)
    {
        string fixedBit = reader.Bits(1);
        reader.Bits(6);
        string id = reader.Hex(localIdLength);
        return fixedBit == "1" && !reader.IsAtEnd ? $"OneRtt to {id} number at {reader.BytesRead}" : null;
    }

    private static string? Long(BitReader reader, int datagramLength, ref int length)
    {
        string fixedBit = reader.Bits(1);
        int type = (int)reader.Number(2);
        reader.Bits(4);
        string version = reader.Hex(4);
        string destination = reader.Hex(reader.Number(8));
        string source = reader.Hex(reader.Number(8));
        string ids = $"to {destination} from {source}";
        if (version == "00000000")
        {
            string versions = reader.HexToEnd();
            return versions.Length > 0 && versions.Length % 8 == 0 ? $"VersionNegotiation {ids} {versions}" : null;
        }

        if (version is not (Version1 or Version2))
        {
            return $"UnsupportedVersion {version} {ids}";
        }

        if (fixedBit == "0" || destination.Length > 40 || source.Length > 40)
        {
            return null;
        }

        string[] names = version == Version1 ? ["Initial", "ZeroRtt", "Handshake", "Retry"] : ["Retry", "Initial", "ZeroRtt", "Handshake"];
        string name = $"{names[type]} {version} {ids}";
        if (names[type] == "Retry")
        {
            string rest = reader.HexToEnd();
            return rest.Length > 32 ? $"{name} token {rest[..^32]} tag {rest[^32..]}" : null;
        }

        if (names[type] == "Initial")
        {
            name += $" token {reader.Hex(reader.Integer())}";
        }

        BigInteger count = reader.Integer();
        if (count > datagramLength - reader.BytesRead)
        {
            return null;
        }

        length = reader.BytesRead + (int)count;
        return $"{name} number at {reader.BytesRead}";
    }
}
