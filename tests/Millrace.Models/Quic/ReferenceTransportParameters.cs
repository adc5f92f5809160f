using System.Numerics;

namespace Millrace.Models;

/// <summary>A slow reader of QUIC's transport parameters, by RFC 9000, section 18, and RFC 9368, section 3.</summary>
internal static class ReferenceTransportParameters
{
    /// <summary>Repetitions are found among so many unknown parameters; the RFC only recommends to find them.</summary>
    private const int UnknownMost = 32;

    /// <summary>What is known of them, in the order of their ids, or "fault". Defaults are as if they were sent.</summary>
    public static string Describe(byte[] encoded, bool fromServer)
    {
        var values = new SortedDictionary<int, string> { [1] = "0", [3] = "65527", [10] = "3", [11] = "25", [14] = "2" };
        for (int id = 4; id <= 9; id++)
        {
            values[id] = "0";
        }

        var seen = new HashSet<BigInteger>();
        var reader = new BitReader(encoded);
        try
        {
            while (!reader.IsAtEnd)
            {
                BigInteger id = reader.Integer();
                byte[] value = Convert.FromHexString(reader.Hex(reader.Integer()));
                if (seen.Contains(id))
                {
                    return "fault";
                }

                if (id <= 0x11 || seen.Count(other => other > 0x11) < UnknownMost)
                {
                    seen.Add(id);
                }

                if (id <= 0x11)
                {
                    values[(int)id] = Value((int)id, value, fromServer);
                }
            }
        }
        catch (EndOfStreamException)
        {
            return "fault";
        }

        // Section 18.2: a server without a connection id must not offer another address.
        bool isPreferredWithoutId = values.ContainsKey(0x0D) && values.TryGetValue(0x0F, out string? source) && source == "[]";
        return isPreferredWithoutId || values.ContainsValue("fault") ? "fault" : string.Join(", ", values.Select(pair => $"{pair.Key}={pair.Value}"));
    }

    private static string Value(int id, byte[] value, bool fromServer)
    {
        string hex = Convert.ToHexStringLower(value);
        bool isValid = id switch
        {
            0 or 0x10 => fromServer && value.Length <= 20,
            0x0F => value.Length <= 20,
            2 => fromServer && value.Length == 16,
            0x0C => value.Length == 0,
            0x0D => fromServer && value.Length > 41 && value.Length <= 61 && value[24] == value.Length - 41,
            0x11 => IsVersionInformation(hex, fromServer),
            _ => true,
        };
        return !isValid ? "fault" : id is 0 or 2 or 0x0C or 0x0D or 0x0F or 0x10 or 0x11 ? $"[{hex}]" : Number(id, value);
    }

    private static string Number(int id, byte[] value)
    {
        var reader = new BitReader(value);
        BigInteger number = reader.Integer();
        bool isWithin = id switch
        {
            3 => number >= 1200,
            8 or 9 => number <= BigInteger.Pow(2, 60),
            10 => number <= 20,
            11 => number < 1 << 14,
            14 => number >= 2,
            _ => true,
        };
        return reader.IsAtEnd && isWithin ? $"{number}" : "fault";
    }

    private static bool IsVersionInformation(string hex, bool fromServer)
    {
        string[] versions = [.. hex.Chunk(8).Select(chunk => new string(chunk))];
        return versions.Length > 0
            && versions[^1].Length == 8
            && !versions.Contains("00000000")
            && (fromServer || versions.Skip(1).Contains(versions[0]));
    }
}
