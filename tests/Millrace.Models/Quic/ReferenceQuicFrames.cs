using System.Numerics;

namespace Millrace.Models;

/// <summary>
/// A slow reader of QUIC's frames, by the figures of RFC 9000, section 19, in the words of the tests' FrameText. It knows packets by
/// the letters of table 3: I, H, 0, 1.
/// </summary>
internal static class ReferenceQuicFrames
{
    private const string Violation = "ProtocolViolation";
    private const string Malformed = "FrameEncodingError";

    private static readonly BigInteger End = BigInteger.Pow(2, 62);
    private static readonly BigInteger StreamsMost = BigInteger.Pow(2, 60);

    /// <summary>Table 3: the packets of each type, and its name where the fields are one limit.</summary>
    private static readonly Dictionary<int, (string Packets, string Name)> Table = new()
    {
        [0x00] = ("IH01", ""),
        [0x01] = ("IH01", "Ping"),
        [0x02] = ("IH1", ""),
        [0x03] = ("IH1", ""),
        [0x04] = ("01", ""),
        [0x05] = ("01", ""),
        [0x06] = ("IH1", ""),
        [0x07] = ("1", "NewToken"),
        [0x10] = ("01", "MaxData"),
        [0x11] = ("01", "MaxStreamData"),
        [0x12] = ("01", "MaxStreamsBidirectional"),
        [0x13] = ("01", "MaxStreamsUnidirectional"),
        [0x14] = ("01", "DataBlocked"),
        [0x15] = ("01", "StreamDataBlocked"),
        [0x16] = ("01", "StreamsBlockedBidirectional"),
        [0x17] = ("01", "StreamsBlockedUnidirectional"),
        [0x18] = ("01", ""),
        [0x19] = ("1", ""),
        [0x1A] = ("01", "PathChallenge"),
        [0x1B] = ("1", "PathResponse"),
        [0x1C] = ("IH01", ""),
        [0x1D] = ("01", ""),
        [0x1E] = ("1", "HandshakeDone"),
    };

    public static string Describe(byte[] payload, char packet, bool isServer)
    {
        if (payload.Length == 0)
        {
            return $"{Violation} of 00";
        }

        List<string> texts = [];
        var reader = new BitReader(payload);
        string? fault = null;
        while (!reader.IsAtEnd && fault is null)
        {
            string text = One(reader, packet, isServer, out fault);
            bool isPadding = text == "padding 1" && texts.Count > 0 && texts[^1].StartsWith("padding", StringComparison.Ordinal);
            if (isPadding)
            {
                texts[^1] = $"padding {int.Parse(texts[^1][8..]) + 1}";
            }
            else
            {
                texts.Add(fault ?? text);
            }
        }

        return string.Join("; ", texts);
    }

    private static string One(BitReader reader, char packet, bool isServer, out string? fault)
    {
        BigInteger type = 0;
        fault = null;
        try
        {
            int before = reader.BytesRead;
            type = reader.Integer();
            int length = reader.BytesRead - before;
            bool isStream = type >= 8 && type <= 15;
            bool isKnown = isStream || (type <= 0x1E && Table.ContainsKey((int)type));
            if (!isKnown)
            {
                fault = Malformed;
            }
            else if (length > 1
                || !(isStream ? "01" : Table[(int)type].Packets).Contains(packet)
                || (isServer && (type == 7 || type == 0x1E)))
            {
                fault = Violation;
            }
            else
            {
                return Fields((int)type, reader) ?? throw new EndOfStreamException();
            }
        }
        catch (EndOfStreamException)
        {
            fault = Malformed;
        }

        fault += $" of {(long)type:x2}";
        return "";
    }

    /// <summary>Null: a field is not valid.</summary>
    private static string? Fields(int type, BitReader reader)
    {
        switch (type)
        {
            case 0:
                return "padding 1";
            case 2 or 3:
                return Ack(type, reader);
            case 4:
                return $"reset {reader.Integer()} code {reader.Integer()} size {reader.Integer()}";
            case 5:
                return $"stop {reader.Integer()} code {reader.Integer()}";
            case 6:
                BigInteger offset = reader.Integer();
                string data = reader.Hex(reader.Integer());
                return offset + (data.Length / 2) < End ? $"crypto {offset} {data}" : null;
            case >= 8 and <= 15:
                return Stream(type, reader);
            case 7:
                string token = reader.Hex(reader.Integer());
                return token.Length > 0 ? $"NewToken {token}" : null;
            case 0x10 or 0x14:
                return $"{Table[type].Name} {reader.Integer()}";
            case 0x11 or 0x15:
                return $"{Table[type].Name} {reader.Integer()} {reader.Integer()}";
            case 0x12 or 0x13 or 0x16 or 0x17:
                BigInteger streams = reader.Integer();
                return streams <= StreamsMost ? $"{Table[type].Name} {streams}" : null;
            case 0x18:
                return NewConnectionId(reader);
            case 0x19:
                return $"retire {reader.Integer()}";
            case 0x1A or 0x1B:
                return $"{Table[type].Name} {reader.Hex(8)}";
            case 0x1C:
                return $"close {reader.Integer()} by {reader.Integer()} {reader.Hex(reader.Integer())}";
            case 0x1D:
                return $"application close {reader.Integer()} {reader.Hex(reader.Integer())}";
            default:
                return Table[type].Name;
        }
    }

    private static string? Ack(int type, BitReader reader)
    {
        BigInteger largest = reader.Integer();
        BigInteger delay = reader.Integer();
        BigInteger count = reader.Integer();
        BigInteger smallest = largest - reader.Integer();
        List<string> ranges = [$"{smallest}-{largest}"];
        bool isValid = smallest >= 0;
        for (BigInteger i = 0; i < count; i++)
        {
            largest = smallest - reader.Integer() - 2;
            smallest = largest - reader.Integer();
            isValid &= smallest >= 0;
            ranges.Add($"{smallest}-{largest}");
        }

        string ecn = type == 3 ? $" ecn {reader.Integer()} {reader.Integer()} {reader.Integer()}" : "";
        return isValid ? $"ack {string.Join(',', ranges)} delay {delay}{ecn}" : null;
    }

    private static string? Stream(int type, BitReader reader)
    {
        BigInteger id = reader.Integer();
        BigInteger offset = (type & 4) != 0 ? reader.Integer() : 0;
        string data = (type & 2) != 0 ? reader.Hex(reader.Integer()) : reader.HexToEnd();
        string fin = (type & 1) != 0 ? " fin" : "";
        return offset + (data.Length / 2) < End ? $"stream {id} at {offset} {data}{fin}" : null;
    }

    private static string? NewConnectionId(BitReader reader)
    {
        BigInteger number = reader.Integer();
        BigInteger retired = reader.Integer();
        int length = (int)reader.Number(8);
        if (retired > number || length < 1 || length > 20)
        {
            return null;
        }

        return $"id {number} {retired} {reader.Hex(length)} {reader.Hex(16)}";
    }
}
