using System.Globalization;
using System.Numerics;
using System.Text;

namespace Millrace.Models;

/// <summary>
/// A slow reader of the frames of HTTP/3 (RFC 9114 section 7), over all bytes of a stream at once: numbers of strings of bits, and rules as
/// the RFC's table has them. It knows types and errors by their numbers.
/// </summary>
internal static class ReferenceHttp3
{
    /// <summary>By type: whether each kind of stream may have it: requests, responses, the client's control stream, the server's.</summary>
    private static readonly Dictionary<BigInteger, string> Allowed = new()
    {
        [0x00] = "yynn",
        [0x01] = "yynn",
        [0x03] = "nnyy",
        [0x04] = "nnyy",
        [0x05] = "n-nn",
        [0x07] = "nnyy",
        [0x0D] = "nnyn",
        [0xF0700] = "nnyn",
        [0xF0701] = "nnyn",
        [0x02] = "nnnn",
        [0x06] = "nnnn",
        [0x08] = "nnnn",
        [0x09] = "nnnn",
    };

    /// <summary>The frames, a line each, then what stands at the end; in the words of <see cref="Http3Description"/>.</summary>
    public static string Frames(byte[] bytes, int kind)
    {
        List<ReferenceFrame> frames = Parse(bytes, kind, out string end);
        return string.Concat(frames.Select(frame =>
            $"{frame.Type} {frame.Length} {(Allowed.ContainsKey(frame.Type) ? Latin1.Text(frame.Payload) : "skipped")}\n")) + end;
    }

    /// <summary>What a control stream says, a line each.</summary>
    public static string Control(byte[] bytes, bool isServer)
    {
        var text = new StringBuilder();
        BigInteger lastGoAway = BigInteger.Pow(2, 62) - 1;
        BigInteger lastPush = 0;
        List<ReferenceFrame> frames = Parse(bytes, isServer ? 2 : 3, out string end);
        foreach (ReferenceFrame frame in frames)
        {
            if (!Allowed.ContainsKey(frame.Type))
            {
                text.Append("Unknown\n");
            }
            else if (frame.Payload.Length == frame.Length)
            {
                string said = OfPayload((int)frame.Type, frame.Payload, isServer, ref lastGoAway, ref lastPush);
                if (said.StartsWith("Error", StringComparison.Ordinal))
                {
                    return $"{text}{said}";
                }

                text.Append(said).Append('\n');
            }
        }

        return end.StartsWith("error", StringComparison.Ordinal)
            ? $"{text}Error{end[5..]}"
            : $"{text}NeedMore";
    }

    /// <summary>All frames whose start has come, the last one perhaps not whole, and how the stream stands after them.</summary>
    private static List<ReferenceFrame> Parse(byte[] bytes, int kind, out string end)
    {
        var frames = new List<ReferenceFrame>();
        var types = new List<BigInteger>();
        int at = 0;
        while (true)
        {
            int start = at;
            if (Number(bytes, ref at) is not BigInteger type)
            {
                bool isWithin = start != bytes.Length;
                end = $"{(isWithin ? "within" : "between")} {End(types, kind, isWithin)}";
                return frames;
            }

            int? error = ErrorOf(type, types, kind);
            types.Add(type);
            BigInteger? length = error is null ? Number(bytes, ref at) : null;
            error ??= length is BigInteger known && kind > 1 ? ErrorOfLength(type, known) : null;
            if (error is not null || length is null)
            {
                end = error is not null ? $"error {error:x}" : $"within {End(types, kind, isWithin: true)}";
                return frames;
            }

            int present = (int)BigInteger.Min(length.Value, bytes.Length - at);
            frames.Add(new ReferenceFrame(type, length.Value, bytes[at..(at + present)]));
            at += present;
            if (present < length)
            {
                end = $"within {End(types, kind, isWithin: true)}";
                return frames;
            }
        }
    }

    private static string OfPayload(int type, byte[] payload, bool isServer, ref BigInteger lastGoAway, ref BigInteger lastPush)
    {
        if (type == 4)
        {
            return Settings(payload);
        }

        int at = 0;
        BigInteger? id = Number(payload, ref at);
        bool isUpdate = type >= 0xF0700;
        if (id is null || (!isUpdate && at != payload.Length))
        {
            return "Error 106";
        }

        switch (type)
        {
            case 7 when id <= lastGoAway && (isServer || id % 4 == 0):
                lastGoAway = id.Value;
                return $"GoAway {id}";
            case 13 when id >= lastPush:
                lastPush = id.Value;
                return $"MaxPushId {id}";
            case 0xF0700 when id % 4 == 0:
                return $"PriorityUpdate {id} {Millrace.Http.StreamPriority.Parse(payload.AsSpan(at))}";
            default:
                return "Error 108";
        }
    }

    private static string Settings(byte[] payload)
    {
        var values = new SortedDictionary<int, BigInteger>();
        int at = 0;
        while (at < payload.Length)
        {
            if (Number(payload, ref at) is not BigInteger id || Number(payload, ref at) is not BigInteger value)
            {
                return "Error 106";
            }

            if (id is { IsZero: true } || (id >= 2 && id <= 5) || (id == 8 && value > 1) || (id <= 8 && !values.TryAdd((int)id, value)))
            {
                return "Error 109";
            }
        }

        BigInteger Of(int id, long otherwise) => values.TryGetValue(id, out BigInteger value) ? value : otherwise;
        return $"Settings {Of(1, 0)} {Of(6, long.MaxValue)} {Of(7, 0)} {Of(8, 0)}";
    }

    private static int? ErrorOf(BigInteger type, List<BigInteger> before, int kind)
    {
        if (kind > 1)
        {
            if (before.Count == 0)
            {
                return type == 4 ? null : 0x10A;
            }

            return type == 4 || (Allowed.TryGetValue(type, out string? kinds) && kinds[kind] == 'n') ? 0x105 : null;
        }

        if (Allowed.TryGetValue(type, out string? allowed) && allowed[kind] != 'y')
        {
            return allowed[kind] == '-' ? 0x108 : 0x105;
        }

        // A message by its letters: h and d. A response may have heads before its own, which trailers look like.
        string letters = string.Concat(before.Append(type).Where(frame => frame <= 1).Select(frame => frame.IsZero ? 'd' : 'h'));
        string pattern = kind == 0 ? "^(h(d*|d*h))?$" : "^(h+(d*|d+h))?$";
        return System.Text.RegularExpressions.Regex.IsMatch(letters, pattern) ? null : 0x105;
    }

    private static int? ErrorOfLength(BigInteger type, BigInteger length)
    {
        if (type == 7 || type == 3 || type == 13)
        {
            return length == 1 || length == 2 || length == 4 || length == 8 ? null : 0x106;
        }

        return !Allowed.ContainsKey(type) ? null
            : type >= 0xF0700 && length.IsZero ? 0x106
            : length > 4096 ? 0x107
            : null;
    }

    private static string End(List<BigInteger> frames, int kind, bool isWithin) => kind > 1 ? "104"
        : isWithin ? "106"
        : frames.Contains(1) ? "0"
        : kind == 0 ? "10d"
        : "10e";

    private static BigInteger? Number(byte[] bytes, ref int at)
    {
        if (at >= bytes.Length)
        {
            return null;
        }

        string bits = string.Concat(bytes.Skip(at).Take(8).Select(value => value.ToString("b8", CultureInfo.InvariantCulture)));
        int length = bits[..2] switch
        {
            "00" => 8,
            "01" => 16,
            "10" => 32,
            _ => 64,
        };
        if (bits.Length < length)
        {
            return null;
        }

        at += length / 8;
        return bits[2..length].Aggregate(BigInteger.Zero, (value, bit) => (value * 2) + (bit - '0'));
    }
}

/// <summary>A frame, whose payload may not be whole.</summary>
internal sealed record ReferenceFrame(BigInteger Type, BigInteger Length, byte[] Payload);
