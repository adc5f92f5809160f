using System.Text;

namespace Millrace.Tests.Shared;

/// <summary>
/// What a client of HTTP/3 sends, byte by byte (RFC 9114); knows nothing of the server's own code for it, and checks nothing.
/// </summary>
internal static class Http3Bytes
{
    // Types of frames.
    public const long DataType = 0x00;
    public const long HeadersType = 0x01;
    public const long CancelPushType = 0x03;
    public const long SettingsType = 0x04;
    public const long PushPromiseType = 0x05;
    public const long GoAwayType = 0x07;
    public const long MaxPushIdType = 0x0D;
    public const long PriorityUpdateType = 0xF0700;

    // Types of unidirectional streams.
    public const long ControlStream = 0x00;
    public const long PushStream = 0x01;
    public const long EncoderStream = 0x02;
    public const long DecoderStream = 0x03;

    // Settings.
    public const long TableCapacitySetting = 0x01;
    public const long FieldSectionSizeSetting = 0x06;
    public const long BlockedStreamsSetting = 0x07;
    public const long ExtendedConnectSetting = 0x08;

    /// <summary>A variable-length integer (RFC 9000, section 16), in its shortest form or in so many bytes.</summary>
    public static byte[] Number(long value, int bytes = 0)
    {
        int length = Math.Max(bytes, value < 1 << 6 ? 1 : value < 1 << 14 ? 2 : value < 1 << 30 ? 4 : 8);
        byte[] number = new byte[length];
        for (int i = length - 1; i >= 0; i--, value >>= 8)
        {
            number[i] = (byte)value;
        }

        number[0] |= (byte)(length switch { 1 => 0, 2 => 0x40, 4 => 0x80, _ => 0xC0 });
        return number;
    }

    public static byte[] Frame(long type, params ReadOnlySpan<byte> payload) => [.. Number(type), .. Number(payload.Length), .. payload];

    /// <summary>Only the beginning of a frame.</summary>
    public static byte[] FrameHeader(long type, long length) => [.. Number(type), .. Number(length)];

    public static byte[] Data(params ReadOnlySpan<byte> content) => Frame(DataType, content);

    public static byte[] Headers(params ReadOnlySpan<(string Name, string Value)> fields) => Frame(HeadersType, QpackFields.Section(fields));

    /// <summary>The head of a request for a path, with more fields as "name: value".</summary>
    public static byte[] Request(string method, string path, params ReadOnlySpan<string> fields) =>
        Headers([.. RequestFields(method, path, fields)]);

    public static IReadOnlyList<(string Name, string Value)> RequestFields(
        string method, string path, params ReadOnlySpan<string> fields)
    {
        List<(string, string)> all = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)];
        foreach (string field in fields)
        {
            int colon = field.IndexOf(':', 1);
            all.Add((field[..colon], field[(colon + 1)..].TrimStart(' ')));
        }

        return all;
    }

    public static byte[] Settings(params ReadOnlySpan<(long Id, long Value)> settings)
    {
        var payload = new List<byte>();
        foreach ((long id, long value) in settings)
        {
            payload.AddRange([.. Number(id), .. Number(value)]);
        }

        return Frame(SettingsType, [.. payload]);
    }

    public static byte[] GoAway(long id) => Frame(GoAwayType, Number(id));

    public static byte[] MaxPushId(long id) => Frame(MaxPushIdType, Number(id));

    public static byte[] CancelPush(long id) => Frame(CancelPushType, Number(id));

    /// <summary>PRIORITY_UPDATE of a request (RFC 9218, section 7.2).</summary>
    public static byte[] PriorityUpdate(long streamId, string value) =>
        Frame(PriorityUpdateType, [.. Number(streamId), .. Encoding.ASCII.GetBytes(value)]);

    /// <summary>A frame of a type that is reserved, so that nobody relies on knowing all (section 7.2.8).</summary>
    public static byte[] Grease(int n = 3, int length = 5) => Frame(0x21 + (0x1FL * n), new byte[length]);

    /// <summary>Reads a variable-length integer. False: it is not whole.</summary>
    public static bool TryReadNumber(ReadOnlySpan<byte> bytes, out long value, out int length)
    {
        value = 0;
        length = bytes.IsEmpty ? 1 : 1 << (bytes[0] >> 6);
        if (bytes.Length < length)
        {
            return false;
        }

        value = bytes[0] & 0x3F;
        for (int i = 1; i < length; i++)
        {
            value = (value << 8) | bytes[i];
        }

        return true;
    }
}

/// <summary>Error codes of HTTP/3 and QPACK (RFC 9114, section 8.1; RFC 9204, section 6).</summary>
internal static class Http3Codes
{
    public const long NoError = 0x100;
    public const long GeneralProtocolError = 0x101;
    public const long InternalError = 0x102;
    public const long StreamCreationError = 0x103;
    public const long ClosedCriticalStream = 0x104;
    public const long FrameUnexpected = 0x105;
    public const long FrameError = 0x106;
    public const long ExcessiveLoad = 0x107;
    public const long IdError = 0x108;
    public const long SettingsError = 0x109;
    public const long MissingSettings = 0x10A;
    public const long RequestRejected = 0x10B;
    public const long RequestCancelled = 0x10C;
    public const long RequestIncomplete = 0x10D;
    public const long MessageError = 0x10E;
    public const long ConnectError = 0x10F;
    public const long VersionFallback = 0x110;
    public const long DecompressionFailed = 0x200;
    public const long EncoderStreamError = 0x201;
    public const long DecoderStreamError = 0x202;
}
