using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Reads the payloads of complete frames that a client sent, RFC 9113 section 6. Each reader also checks the header (see <see
/// cref="FrameRules"/>), except for the length limit. If it returns false, the fault says what must end, and its other results have no
/// meaning.
/// </summary>
internal static class FramePayload
{
    /// <summary>The data of a DATA frame. Flow control counts the header's length, including padding (section 6.1).</summary>
    public static bool TryData(in FrameHeader header, ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> data, out Http2Fault fault)
        => TryUnpad(header, FrameType.Data, payload, fieldBytes: 0, out data, out fault);

    /// <summary>
    /// The field block fragment of a HEADERS frame. Its priority fields are skipped: RFC 9113 deprecated them (section 5.3.2), and with
    /// them the error of a stream that depends on itself.
    /// </summary>
    public static bool TryHeaders(in FrameHeader header, ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> fragment, out Http2Fault fault)
        => TryUnpad(header, FrameType.Headers, payload, FrameRules.PriorityFieldBytes(header), out fragment, out fault);

    /// <summary>The field block fragment of a CONTINUATION frame, which is all of its payload.</summary>
    public static bool TryContinuation(
        in FrameHeader header,
        ReadOnlySpan<byte> payload,
        out ReadOnlySpan<byte> fragment,
        out Http2Fault fault)
    {
        fragment = payload;
        return Passes(header, FrameType.Continuation, payload, out fault);
    }

    /// <summary>A PRIORITY frame: only checks whether it is valid.</summary>
    public static bool TryPriority(in FrameHeader header, ReadOnlySpan<byte> payload, out Http2Fault fault)
        => Passes(header, FrameType.Priority, payload, out fault);

    public static bool TryRstStream(in FrameHeader header, ReadOnlySpan<byte> payload, out Http2Error error, out Http2Fault fault)
    {
        bool passes = Passes(header, FrameType.RstStream, payload, out fault);
        error = passes ? (Http2Error)BinaryPrimitives.ReadUInt32BigEndian(payload) : default;
        return passes;
    }

    /// <summary>The parameters of a SETTINGS frame, all checked before the first is returned; none for an acknowledgement.</summary>
    public static bool TrySettings(in FrameHeader header, ReadOnlySpan<byte> payload, out SettingList settings, out Http2Fault fault)
    {
        settings = default;
        if (!Passes(header, FrameType.Settings, payload, out fault))
        {
            return false;
        }

        settings = new SettingList(payload);
        foreach (Setting setting in settings)
        {
            fault = setting.Fault;
            if (!fault.IsNone)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>The eight bytes of a PING, which must be sent back unless it is an acknowledgement.</summary>
    public static bool TryPing(in FrameHeader header, ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> opaque, out Http2Fault fault)
    {
        opaque = payload;
        return Passes(header, FrameType.Ping, payload, out fault);
    }

    public static bool TryGoAway(
        in FrameHeader header,
        ReadOnlySpan<byte> payload,
        out int lastStreamId,
        out Http2Error error,
        out Http2Fault fault)
    {
        bool passes = Passes(header, FrameType.GoAway, payload, out fault);
        lastStreamId = passes ? BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue : 0;
        error = passes ? (Http2Error)BinaryPrimitives.ReadUInt32BigEndian(payload[4..]) : default;
        return passes;
    }

    /// <summary>The increment of a window; at least 1. The session checks whether the window can grow so far.</summary>
    public static bool TryWindowUpdate(in FrameHeader header, ReadOnlySpan<byte> payload, out int increment, out Http2Fault fault)
    {
        increment = 0;
        if (!Passes(header, FrameType.WindowUpdate, payload, out fault))
        {
            return false;
        }

        increment = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
        if (increment == 0)
        {
            fault = new Http2Fault(Http2Error.ProtocolError, header.StreamId == 0 ? FaultScope.Connection : FaultScope.Stream);
        }

        return increment != 0;
    }

    /// <summary>
    /// A PRIORITY_UPDATE (RFC 9218 section 7.1): its stream, and the priority in the syntax of the priority field (see <see
    /// cref="StreamPriority"/>). The session checks whether the stream is a client's.
    /// </summary>
    public static bool TryPriorityUpdate(
        in FrameHeader header,
        ReadOnlySpan<byte> payload,
        out int prioritizedStreamId,
        out ReadOnlySpan<byte> priority,
        out Http2Fault fault)
    {
        prioritizedStreamId = 0;
        priority = default;
        if (!Passes(header, FrameType.PriorityUpdate, payload, out fault))
        {
            return false;
        }

        prioritizedStreamId = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
        priority = payload[FrameRules.PrioritizedBytes..];
        if (prioritizedStreamId == 0)
        {
            fault = Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        return prioritizedStreamId != 0;
    }

    private static bool TryUnpad(
        in FrameHeader header,
        FrameType type,
        ReadOnlySpan<byte> payload,
        int fieldBytes,
        out ReadOnlySpan<byte> content,
        out Http2Fault fault)
    {
        content = default;
        if (!Passes(header, type, payload, out fault))
        {
            return false;
        }

        int paddingBytes = header.Has(FrameFlags.Padded) ? payload[0] : 0;
        int start = FrameRules.PadLengthBytes(header) + fieldBytes;
        int contentBytes = payload.Length - start - paddingBytes;
        if (contentBytes < 0)
        {
            fault = Http2Fault.OfConnection(Http2Error.ProtocolError);
            return false;
        }

        content = payload.Slice(start, contentBytes);
        return true;
    }

    private static bool Passes(in FrameHeader header, FrameType type, ReadOnlySpan<byte> payload, out Http2Fault fault)
    {
        Debug.Assert(header.Type == type && header.Length == payload.Length);
        fault = FrameRules.Judge(header);
        return fault.IsNone;
    }
}
