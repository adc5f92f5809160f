using System.Buffers.Binary;
using Millrace.Http;

namespace Millrace.Tests.Shared;

/// <summary>A frame as it came, and how to write those that a client sends; knows nothing of the server's own code for it.</summary>
internal sealed record Frame(FrameType Type, FrameFlags Flags, int StreamId, byte[] Payload)
{
    public const int HeaderBytes = 9;

    public bool IsAck => (Flags & FrameFlags.Ack) != 0;

    public bool IsLast => Type is FrameType.Data or FrameType.Headers && (Flags & FrameFlags.EndStream) != 0;

    /// <summary>The error of RST_STREAM, or of GOAWAY.</summary>
    public Http2Error Error => (Http2Error)BinaryPrimitives.ReadUInt32BigEndian(Payload.AsSpan(Type == FrameType.GoAway ? 4 : 0));

    /// <summary>The last stream of GOAWAY, the increment of WINDOW_UPDATE.</summary>
    public int Number => BinaryPrimitives.ReadInt32BigEndian(Payload);

    public static byte[] Bytes(FrameType type, FrameFlags flags, int streamId, params ReadOnlySpan<byte> payload)
    {
        byte[] frame = new byte[HeaderBytes + payload.Length];
        frame[0] = (byte)(payload.Length >> 16);
        BinaryPrimitives.WriteUInt16BigEndian(frame.AsSpan(1), (ushort)payload.Length);
        frame[3] = (byte)type;
        frame[4] = (byte)flags;
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), streamId);
        payload.CopyTo(frame.AsSpan(HeaderBytes));
        return frame;
    }

    public static byte[] Settings(params ReadOnlySpan<(SettingId Id, uint Value)> settings)
    {
        var payload = new List<byte>();
        foreach ((SettingId id, uint value) in settings)
        {
            payload.AddRange([(byte)((int)id >> 8), (byte)id, .. Number32(value)]);
        }

        return Bytes(FrameType.Settings, FrameFlags.None, 0, [.. payload]);
    }

    public static byte[] SettingsAck() => Bytes(FrameType.Settings, FrameFlags.Ack, 0);

    public static byte[] Headers(int streamId, ReadOnlySpan<byte> block, FrameFlags flags = FrameFlags.EndHeaders | FrameFlags.EndStream) =>
        Bytes(FrameType.Headers, flags, streamId, block);

    public static byte[] Continuation(int streamId, ReadOnlySpan<byte> block, FrameFlags flags = FrameFlags.EndHeaders) =>
        Bytes(FrameType.Continuation, flags, streamId, block);

    public static byte[] Data(int streamId, ReadOnlySpan<byte> data, FrameFlags flags = FrameFlags.EndStream) =>
        Bytes(FrameType.Data, flags, streamId, data);

    public static byte[] Reset(int streamId, Http2Error error = Http2Error.Cancel) =>
        Bytes(FrameType.RstStream, FrameFlags.None, streamId, Number32((uint)error));

    public static byte[] WindowUpdate(int streamId, uint increment) =>
        Bytes(FrameType.WindowUpdate, FrameFlags.None, streamId, Number32(increment));

    public static byte[] Ping(ReadOnlySpan<byte> opaque, FrameFlags flags = FrameFlags.None) => Bytes(FrameType.Ping, flags, 0, opaque);

    public static byte[] GoAway(int lastStreamId, Http2Error error) =>
        Bytes(FrameType.GoAway, FrameFlags.None, 0, [.. Number32((uint)lastStreamId), .. Number32((uint)error)]);

    public static byte[] Priority(int streamId, int dependsOn = 0) =>
        Bytes(FrameType.Priority, FrameFlags.None, streamId, [.. Number32((uint)dependsOn), 15]);

    public static byte[] PriorityUpdate(int streamId, string value) =>
        Bytes(FrameType.PriorityUpdate, FrameFlags.None, 0, [.. Number32((uint)streamId), .. System.Text.Encoding.ASCII.GetBytes(value)]);

    public static byte[] Number32(uint value)
    {
        byte[] bytes = new byte[4];
        BinaryPrimitives.WriteUInt32BigEndian(bytes, value);
        return bytes;
    }
}
