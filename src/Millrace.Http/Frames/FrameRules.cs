namespace Millrace.Http;

/// <summary>
/// What a server holds against a frame by its header alone, so that a payload nobody wants need not be awaited: its length and its
/// stream, RFC 9113 sections 4.2 and 6. What depends on the state of a stream is the session's to judge.
/// </summary>
internal static class FrameRules
{
    /// <summary>The bytes of PRIORITY, and of a HEADERS frame's fields of the same meaning.</summary>
    public const int PriorityBytes = 5;

    public const int ErrorCodeBytes = 4;

    public const int PingBytes = 8;

    /// <summary>The last stream and the error code of GOAWAY; debug data may follow.</summary>
    public const int GoAwayBytes = 8;

    public const int WindowUpdateBytes = 4;

    /// <summary>The stream a PRIORITY_UPDATE is about.</summary>
    public const int PrioritizedBytes = 4;

    /// <summary>
    /// Judges a frame of a peer that was told to send at most <paramref name="lengthMax"/> bytes. One that is longer ends the
    /// connection whatever its type (section 4.2 asks it of most): its payload would have to be skipped otherwise.
    /// </summary>
    public static Http2Fault Judge(in FrameHeader header, int lengthMax) => header.Length > lengthMax
        ? Http2Fault.OfConnection(Http2Error.FrameSizeError)
        : Judge(header);

    /// <summary>Judges all but the limit on the length.</summary>
    public static Http2Fault Judge(in FrameHeader header)
    {
        if (!IsStreamFitting(header))
        {
            return Http2Fault.OfConnection(Http2Error.ProtocolError);
        }

        if (IsLengthFitting(header))
        {
            return default;
        }

        // Section 6.3: a PRIORITY of the wrong length spoils its stream only.
        return new Http2Fault(Http2Error.FrameSizeError, header.Type == FrameType.Priority ? FaultScope.Stream : FaultScope.Connection);
    }

    private static bool IsStreamFitting(in FrameHeader header) => header.Type switch
    {
        FrameType.Data or FrameType.Headers or FrameType.Priority or FrameType.RstStream or FrameType.Continuation => header.StreamId != 0,
        FrameType.Settings or FrameType.Ping or FrameType.GoAway or FrameType.PriorityUpdate => header.StreamId == 0,

        // Section 8.4: a client cannot push.
        FrameType.PushPromise => false,
        _ => true,
    };

    private static bool IsLengthFitting(in FrameHeader header)
    {
        int length = header.Length;
        return header.Type switch
        {
            FrameType.Data => length >= PadLengthBytes(header),
            FrameType.Headers => length >= PadLengthBytes(header) + PriorityFieldBytes(header),
            FrameType.Priority => length == PriorityBytes,
            FrameType.RstStream => length == ErrorCodeBytes,
            FrameType.Settings => header.Has(FrameFlags.Ack) ? length == 0 : length % Setting.Size == 0,
            FrameType.Ping => length == PingBytes,
            FrameType.GoAway => length >= GoAwayBytes,
            FrameType.WindowUpdate => length == WindowUpdateBytes,
            FrameType.PriorityUpdate => length >= PrioritizedBytes,
            _ => true,
        };
    }

    public static int PadLengthBytes(in FrameHeader header) => header.Has(FrameFlags.Padded) ? 1 : 0;

    public static int PriorityFieldBytes(in FrameHeader header) => header.Has(FrameFlags.Priority) ? PriorityBytes : 0;
}
