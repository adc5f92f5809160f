using System.Buffers.Binary;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Reads the payloads of complete frames whose headers <see cref="FrameRules"/> has passed, RFC 9113 section 6. If a reader returns false,
/// the fault says what must end, and its other results have no meaning.
/// </summary>
internal static class FramePayload
{
    /// <summary>
    /// The data of a DATA frame, or the field block fragment of a HEADERS frame, without padding. Flow control counts the header's length
    /// (section 6.1). The priority fields of HEADERS are skipped: RFC 9113 deprecated them (section 5.3.2), and with them the error of a
    /// stream that depends on itself.
    /// </summary>
    public static bool TryUnpad(in FrameHeader header, ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> content, out Http2Fault fault)
    {
        AssertIsValidated(header, header.Type, payload);
        int paddingBytes = header.Has(FrameFlags.Padded) ? payload[0] : 0;
        int start = FrameRules.PadLengthBytes(header) + FrameRules.PriorityFieldBytes(header);
        int contentBytes = payload.Length - start - paddingBytes;
        content = contentBytes < 0 ? default : payload.Slice(start, contentBytes);
        fault = contentBytes < 0 ? Http2Fault.OfConnection(Http2Error.ProtocolError) : default;
        return fault.IsNone;
    }

    /// <summary>The increment of a window; at least 1. The session checks whether the window can grow so far.</summary>
    public static bool TryWindowUpdate(in FrameHeader header, ReadOnlySpan<byte> payload, out int increment, out Http2Fault fault)
    {
        AssertIsValidated(header, FrameType.WindowUpdate, payload);
        increment = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
        fault = increment != 0 ? default
            : header.StreamId == 0 ? Http2Fault.OfConnection(Http2Error.ProtocolError)
            : Http2Fault.OfStream(Http2Error.ProtocolError);
        return fault.IsNone;
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
        AssertIsValidated(header, FrameType.PriorityUpdate, payload);
        prioritizedStreamId = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
        priority = payload[FrameRules.PrioritizedBytes..];
        fault = prioritizedStreamId == 0 ? Http2Fault.OfConnection(Http2Error.ProtocolError) : default;
        return fault.IsNone;
    }

    [Conditional("DEBUG")]
    private static void AssertIsValidated(in FrameHeader header, FrameType type, ReadOnlySpan<byte> payload) =>
        Debug.Assert(header.Type == type && header.Length == payload.Length && FrameRules.Check(header).IsNone);
}
