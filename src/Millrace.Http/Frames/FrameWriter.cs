using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Writes the frames that a server sends, other than those whose payload the caller writes after a <see cref="FrameHeader"/>. Each method
/// returns the number of bytes written; a destination that is too small is an error of the caller, which knows every size in advance.
/// </summary>
internal static class FrameWriter
{
    public const int SettingsAckBytes = FrameHeader.Size;
    public const int PingBytes = FrameHeader.Size + FrameRules.PingBytes;
    public const int RstStreamBytes = FrameHeader.Size + FrameRules.ErrorCodeBytes;
    public const int WindowUpdateBytes = FrameHeader.Size + FrameRules.WindowUpdateBytes;

    /// <summary>Without debug data.</summary>
    public const int GoAwayBytes = FrameHeader.Size + FrameRules.GoAwayBytes;

    public static int SettingsBytes(int count) => FrameHeader.Size + (count * Setting.Size);

    public static int Settings(Span<byte> destination, ReadOnlySpan<Setting> settings)
    {
        FrameHeader.Write(destination, settings.Length * Setting.Size, FrameType.Settings, FrameFlags.None, streamId: 0);
        int at = FrameHeader.Size;
        foreach (Setting setting in settings)
        {
            Debug.Assert(setting.Fault.IsNone);
            BinaryPrimitives.WriteUInt16BigEndian(destination[at..], (ushort)setting.Id);
            BinaryPrimitives.WriteUInt32BigEndian(destination[(at + 2)..], setting.Value);
            at += Setting.Size;
        }

        return at;
    }

    public static int SettingsAck(Span<byte> destination)
    {
        FrameHeader.Write(destination, length: 0, FrameType.Settings, FrameFlags.Ack, streamId: 0);
        return SettingsAckBytes;
    }

    /// <summary>A PING of this server, for example to check that everything before it has arrived.</summary>
    public static int Ping(Span<byte> destination, ReadOnlySpan<byte> opaque) => Ping(destination, opaque, FrameFlags.None);

    public static int PingAck(Span<byte> destination, ReadOnlySpan<byte> opaque) => Ping(destination, opaque, FrameFlags.Ack);

    public static int GoAway(Span<byte> destination, int lastStreamId, Http2Error error)
    {
        FrameHeader.Write(destination, FrameRules.GoAwayBytes, FrameType.GoAway, FrameFlags.None, streamId: 0);
        BinaryPrimitives.WriteInt32BigEndian(destination[FrameHeader.Size..], lastStreamId);
        BinaryPrimitives.WriteUInt32BigEndian(destination[(FrameHeader.Size + 4)..], (uint)error);
        return GoAwayBytes;
    }

    public static int RstStream(Span<byte> destination, int streamId, Http2Error error)
    {
        Debug.Assert(streamId != 0);
        FrameHeader.Write(destination, FrameRules.ErrorCodeBytes, FrameType.RstStream, FrameFlags.None, streamId);
        BinaryPrimitives.WriteUInt32BigEndian(destination[FrameHeader.Size..], (uint)error);
        return RstStreamBytes;
    }

    public static int WindowUpdate(Span<byte> destination, int streamId, int increment)
    {
        Debug.Assert(increment > 0);
        FrameHeader.Write(destination, FrameRules.WindowUpdateBytes, FrameType.WindowUpdate, FrameFlags.None, streamId);
        BinaryPrimitives.WriteInt32BigEndian(destination[FrameHeader.Size..], increment);
        return WindowUpdateBytes;
    }

    private static int Ping(Span<byte> destination, ReadOnlySpan<byte> opaque, FrameFlags flags)
    {
        Debug.Assert(opaque.Length == FrameRules.PingBytes);
        FrameHeader.Write(destination, FrameRules.PingBytes, FrameType.Ping, flags, streamId: 0);
        opaque.CopyTo(destination[FrameHeader.Size..]);
        return PingBytes;
    }
}

/// <summary>The flags of a frame. The meaning of a bit depends on the type; a bit without a meaning is ignored.</summary>
[Flags]
internal enum FrameFlags : byte
{
    None = 0,

    /// <summary>DATA and HEADERS: the client sends nothing more on this stream.</summary>
    EndStream = 0x01,

    /// <summary>SETTINGS and PING: acknowledges one of the server's.</summary>
    Ack = EndStream,

    /// <summary>HEADERS and CONTINUATION: the field block is complete.</summary>
    EndHeaders = 0x04,

    /// <summary>DATA and HEADERS: the first byte gives the number of padding bytes at the end.</summary>
    Padded = 0x08,

    /// <summary>HEADERS: the five bytes of the priority fields, which RFC 9113 deprecated, come first.</summary>
    Priority = 0x20,
}
