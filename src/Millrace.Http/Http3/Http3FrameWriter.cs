using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Writes frames and stream types. Each method returns the number of bytes written; a destination that is too small is an error of the
/// caller, which knows every size in advance.
/// </summary>
internal static class Http3FrameWriter
{
    /// <summary>The type and the length of a frame.</summary>
    public const int HeaderBytesMax = 2 * Http3Integer.BytesMax;

    /// <summary>A frame with an identifier alone.</summary>
    public const int IdFrameBytesMax = 2 + Http3Integer.BytesMax;

    /// <summary>Four settings and a reserved one, all with identifiers of one or two bytes.</summary>
    public const int SettingsBytesMax = 2 + (4 * (1 + Http3Integer.BytesMax)) + 3;

    /// <summary>Section 7.2.4.1: one of the identifiers that have no meaning, so that peers do not come to depend on known ones.</summary>
    private const long ReservedSetting = 0x1F + 0x21;

    public static int StreamType(Span<byte> destination, long type) => Http3Integer.Write(destination, type);

    /// <summary>Writes the start of a frame, whose payload the caller writes.</summary>
    public static int WriteHeader(Span<byte> destination, Http3FrameType type, long length)
    {
        int bytes = Http3Integer.Write(destination, (long)type);
        return bytes + Http3Integer.Write(destination[bytes..], length);
    }

    /// <summary>Writes the settings that differ from their defaults.</summary>
    public static int Settings(Span<byte> destination, in Http3Settings settings)
    {
        Span<byte> payload = stackalloc byte[SettingsBytesMax];
        int bytes = 0;
        Setting(payload, ref bytes, (long)Http3SettingId.TableBytesMax, settings.TableBytesMax, isDefault: settings.TableBytesMax == 0);
        Setting(
            payload, ref bytes, (long)Http3SettingId.SectionBytesMax, settings.SectionBytesMax,
            isDefault: settings.SectionBytesMax == long.MaxValue);
        Setting(
            payload, ref bytes, (long)Http3SettingId.BlockedStreamsMax, settings.BlockedStreamsMax,
            isDefault: settings.BlockedStreamsMax == 0);
        Setting(payload, ref bytes, (long)Http3SettingId.EnableConnectProtocol, 1, isDefault: !settings.EnablesConnect);
        Setting(payload, ref bytes, ReservedSetting, 0, isDefault: false);
        int header = WriteHeader(destination, Http3FrameType.Settings, bytes);
        payload[..bytes].CopyTo(destination[header..]);
        return header + bytes;
    }

    /// <param name="destination">At least <see cref="IdFrameBytesMax"/>.</param>
    /// <param name="id">A server's: the first request stream that it will not process. A client's: a push.</param>
    public static int GoAway(Span<byte> destination, long id) => IdFrame(destination, Http3FrameType.GoAway, id);

    public static int MaxPushId(Span<byte> destination, long id) => IdFrame(destination, Http3FrameType.MaxPushId, id);

    /// <summary>A client's change of a request's priority, in the syntax of the priority field (RFC 9218 section 7.2).</summary>
    public static int PriorityUpdate(Span<byte> destination, long streamId, ReadOnlySpan<byte> priority)
    {
        int bytes = WriteHeader(destination, Http3FrameType.PriorityUpdate, Http3Integer.Length(streamId) + priority.Length);
        bytes += Http3Integer.Write(destination[bytes..], streamId);
        priority.CopyTo(destination[bytes..]);
        return bytes + priority.Length;
    }

    private static int IdFrame(Span<byte> destination, Http3FrameType type, long id)
    {
        int bytes = WriteHeader(destination, type, Http3Integer.Length(id));
        Debug.Assert(bytes == 2);
        return bytes + Http3Integer.Write(destination[bytes..], id);
    }

    private static void Setting(Span<byte> payload, ref int bytes, long id, long value, bool isDefault)
    {
        if (!isDefault)
        {
            bytes += Http3Integer.Write(payload[bytes..], id);
            bytes += Http3Integer.Write(payload[bytes..], value);
        }
    }
}
