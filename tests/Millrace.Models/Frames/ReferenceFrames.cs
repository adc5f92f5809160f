using System.Globalization;

namespace Millrace.Models;

/// <summary>
/// A slow reader of HTTP/2 frames, RFC 9113 section 6: numbers out of strings of hexadecimal digits, and a paragraph of the RFC at a
/// time. It knows types, flags and errors by their numbers and names only.
/// </summary>
internal static class ReferenceFrames
{
    private const int EndStreamOrAck = 1;
    private const int Padded = 8;
    private const int Priority = 32;

    /// <summary>The first frame of the bytes in the words of <see cref="FrameDescription"/>; null for less than a header.</summary>
    public static string? Describe(byte[] bytes, int lengthMax)
    {
        if (bytes.Length < 9)
        {
            return null;
        }

        long length = Number(bytes, 0, 3);
        int type = bytes[3];
        int flags = bytes[4];
        long stream = Number(bytes, 5, 4) % 0x8000_0000;
        if (length > lengthMax)
        {
            return "fault FrameSizeError Connection";
        }

        string? fault = FaultOfHeader(type, flags, stream, length);
        return fault is not null ? $"fault {fault}"
            : bytes.Length < 9 + length ? "awaited"
            : OfPayload(type, flags, stream, bytes[9..(9 + (int)length)]);
    }

    private static string? FaultOfHeader(int type, int flags, long stream, long length)
    {
        bool isOfStream = type is 0 or 1 or 2 or 3 or 9;
        bool isOfConnection = type is 4 or 6 or 7 or 16;
        if ((isOfStream && stream == 0) || (isOfConnection && stream != 0) || type == 5)
        {
            return "ProtocolError Connection";
        }

        if (type == 2 && length != 5)
        {
            return "FrameSizeError Stream";
        }

        int least = (flags & Padded) / Padded + (type == 1 && (flags & Priority) != 0 ? 5 : 0);
        bool isWrong = type switch
        {
            0 or 1 => length < least,
            3 or 8 => length != 4,
            4 => (flags & EndStreamOrAck) != 0 ? length > 0 : length % 6 > 0,
            6 => length != 8,
            7 => length < 8,
            16 => length < 4,
            _ => false,
        };
        return isWrong ? "FrameSizeError Connection" : null;
    }

    private static string OfPayload(int type, int flags, long stream, byte[] payload)
    {
        switch (type)
        {
            case 0:
                return Unpad(payload, flags, 0) is byte[] data ? $"data {Latin1.Text(data)}" : "fault ProtocolError Connection";
            case 1:
                byte[]? fragment = Unpad(payload, flags, (flags & Priority) != 0 ? 5 : 0);
                return fragment is not null ? $"headers {Latin1.Text(fragment)}" : "fault ProtocolError Connection";
            case 2:
                return "priority";
            case 3:
                return $"reset {Number(payload, 0, 4)}";
            case 4:
                return OfSettings(payload);
            case 6:
                return $"ping {Latin1.Text(payload)}";
            case 7:
                return $"goaway {Number(payload, 0, 4) % 0x8000_0000} {Number(payload, 4, 4)}";
            case 8:
                long increment = Number(payload, 0, 4) % 0x8000_0000;
                return increment > 0 ? $"window {increment}" : $"fault ProtocolError {(stream == 0 ? "Connection" : "Stream")}";
            case 9:
                return $"more {Latin1.Text(payload)}";
            case 16:
                long about = Number(payload, 0, 4) % 0x8000_0000;
                return about > 0 ? $"update {about} {Latin1.Text(payload.AsSpan(4))}" : "fault ProtocolError Connection";
            default:
                return "ignored";
        }
    }

    private static byte[]? Unpad(byte[] payload, int flags, int skipped)
    {
        var rest = new List<byte>(payload);
        int padding = 0;
        if ((flags & Padded) != 0)
        {
            padding = rest[0];
            rest.RemoveAt(0);
        }

        rest.RemoveRange(0, skipped);
        return padding <= rest.Count ? [.. rest.SkipLast(padding)] : null;
    }

    private static string OfSettings(byte[] payload)
    {
        string text = "settings";
        foreach (byte[] setting in payload.Chunk(6))
        {
            long id = Number(setting, 0, 2);
            long value = Number(setting, 2, 4);
            string? fault = id switch
            {
                2 or 8 or 9 when value is not (0 or 1) => "ProtocolError",
                4 when value >= 0x8000_0000 => "FlowControlError",
                5 when value is < 16384 or >= 16777216 => "ProtocolError",
                _ => null,
            };
            if (fault is not null)
            {
                return $"fault {fault} Connection";
            }

            text += $" {id}={value}";
        }

        return text;
    }

    private static long Number(byte[] bytes, int at, int count)
        => long.Parse(Convert.ToHexString(bytes, at, count), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
}
